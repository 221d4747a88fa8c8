/** Errors as the API tells them: `{"error": {"code", "message", "problems"?}}`. */
import type { Response } from "express";
import { z } from "zod";
import { ERRORS, JackfieldError } from "../errors.ts";

/** The body of every answer that is no success. */
export const errorBody = z
  .object({
    error: z.object({
      code: z.string().meta({ description: "Stable; programs compare this." }),
      message: z.string().meta({ description: "For people: what is wrong and what to do." }),
      problems: z
        .array(z.object({ field: z.string().meta({ examples: ["body.name"] }), message: z.string() }))
        .optional()
        .meta({ description: "Every value of the request that is wrong." }),
    }),
  })
  .meta({ id: "Error" });

const listed = z.object({ problems: z.array(z.object({ field: z.string(), message: z.string() })) });

/** Of what was entered in the words of a file (`connections/web-words.ts`). */
const entered = z.object({ problems: z.array(z.object({ path: z.string(), message: z.string() })) });
const ofEntry = ({ path, message }: { path: string; message: string }) => ({ field: `body.words.${path}`, message });

/** Answers with an error; anything but a JackfieldError is told as `internal`. */
export function sendProblem(response: Response, error: unknown, headers: Record<string, string> = {}): void {
  const known = error instanceof JackfieldError ? error : new JackfieldError("internal");
  const more = listed.safeParse(known.data);
  const entries = entered.safeParse(known.data);
  const { code, message } = known;
  const found = more.success ? more.data.problems : entries.success ? entries.data.problems.map(ofEntry) : undefined;
  const problems = found === undefined ? {} : { problems: found.map(placed) };
  const body = { error: { code, message, ...problems } };
  // A body that was refused unread must not be read as the next request.
  if (!response.req.complete) response.set("connection", "close");
  response.status(statusOf(known)).set(headers).json(body);
}

/** Lower rooms know fields, not where they came from: what they name stood in the body. */
function placed({ field, message }: { field: string; message: string }) {
  return { field: /^(?:path|query|body)\./.test(field) ? field : `body.${field}`, message };
}

/** The table's status, where it is one of HTTP: what ends a call of a tool as a result is 422 here. */
export function statusOf({ code }: Pick<JackfieldError, "code">): number {
  // What a caller sends is no configuration of the server.
  if (code === "config_invalid") return 400;
  const { status } = ERRORS[code];
  return status < 400 ? 422 : status;
}
