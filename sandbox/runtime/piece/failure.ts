/** What was thrown, as data: pieces throw errors of axios, of SDKs, plain objects and texts. */
import { sliceText } from "../primordials.ts";
import { UNSUPPORTED } from "./context.ts";
import { isEntry, UnloadableError } from "./find.ts";

export interface FailureData {
  readonly code: "piece_unloadable" | "no_such_action" | "unsupported_in_tool" | "result_too_large" | "piece_error";
  readonly message: string;
  readonly name?: string;
  readonly pieceCode?: string;
  readonly httpStatus?: number;
}

/** A failure that is told as it is. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly failure: FailureData["code"];

  constructor(failure: FailureData["code"], message: string) {
    super(message);
    this.failure = failure;
  }
}

const LONGEST = 600;
const CUT: ReadonlySet<unknown> = new Set([UNSUPPORTED, "ERR_SANDBOX_UNAVAILABLE"]);

function cut(text: unknown, longest = LONGEST): string {
  return typeof text === "string" ? sliceText(text, 0, longest) : "";
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    // Circular: the message alone has to do.
    return "";
  }
}

function property(value: unknown, name: string): unknown {
  return isEntry(value) ? value[name] : undefined;
}

/** What the service answered, where the error carries it and does not say it anyway. */
function answerOf(thrown: unknown): string {
  const response = property(thrown, "response");
  const data = property(response, "data") ?? property(response, "body");
  const text = typeof data === "string" ? data : jsonOf(data);
  return text === "" || text === "{}" ? "" : text;
}

function messageOf(thrown: unknown): string {
  const own = property(thrown, "message");
  const message = typeof own === "string" ? own : typeof thrown === "string" ? thrown : jsonOf(thrown);
  const answer = answerOf(thrown);
  return cut(answer === "" || message.includes(cut(answer, 40)) ? message : `${message}: ${answer}`);
}

function statusOf(thrown: unknown): number | undefined {
  const candidates = [property(property(thrown, "response"), "status"), property(thrown, "status")];
  const status = [...candidates, property(thrown, "statusCode")].find((value) => Number.isInteger(value));
  return typeof status === "number" && status >= 100 && status <= 599 ? status : undefined;
}

/** Never throws: a getter of what was thrown may. */
export function failureOf(thrown: unknown): FailureData {
  try {
    if (thrown instanceof CallError) return { code: thrown.failure, message: cut(thrown.message) };
    if (thrown instanceof UnloadableError) return { code: "piece_unloadable", message: cut(thrown.message) };
    const code = property(thrown, "code");
    const missing = [thrown, property(thrown, "cause")].find((link) => CUT.has(property(link, "code")));
    if (missing !== undefined) return { code: "unsupported_in_tool", message: messageOf(missing) };
    const status = statusOf(thrown);
    return {
      code: "piece_error",
      message: messageOf(thrown),
      name: cut(property(thrown, "name"), 100) || "Error",
      ...((typeof code === "string" || typeof code === "number") && { pieceCode: cut(String(code), 100) }),
      ...(status !== undefined && { httpStatus: status }),
    };
  } catch {
    return { code: "piece_error", message: "The piece threw something that cannot be read.", name: "Error" };
  }
}
