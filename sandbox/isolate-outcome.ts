/** Reads what a call left in its isolate. It was packed by code that a piece may have changed: nothing in it is believed. */
import { createScrub, type Scrub } from "./isolate-scrub.ts";
import { type CallOutcome, type Failure, MESSAGE_LENGTH } from "./protocol.ts";

export { createScrub, type Scrub };

const CODES: ReadonlySet<string> = new Set<Failure["code"]>([
  "piece_unloadable",
  "no_such_action",
  "unsupported_in_tool",
  "result_too_large",
  "piece_error",
]);

function isFailureCode(value: unknown): value is Failure["code"] {
  return typeof value === "string" && CODES.has(value);
}

function textOf(value: unknown, longest: number): string | undefined {
  return typeof value === "string" ? value.slice(0, longest) : undefined;
}

/** A failure as the isolate tells it, scrubbed. */
function readFailure(given: Readonly<Record<string, unknown>>, scrub: Scrub): Failure {
  const { code, httpStatus } = given;
  const name = textOf(given["name"], 100);
  const pieceCode = textOf(given["pieceCode"], 100);
  const message = scrub.text(textOf(given["message"], MESSAGE_LENGTH) ?? "").slice(0, MESSAGE_LENGTH);
  return {
    code: isFailureCode(code) ? code : "piece_error",
    message: message === "" ? "The piece gave no reason." : message,
    ...(name !== undefined && { name: scrub.text(name).slice(0, 200) }),
    ...(pieceCode !== undefined && { pieceCode: scrub.text(pieceCode).slice(0, 200) }),
    ...(typeof httpStatus === "number" && Number.isInteger(httpStatus) && { httpStatus }),
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** An outcome packed by `runtime/piece/outcome.ts`: length of the head, head, JSON, files. */
export function readOutcome(packed: ArrayBuffer, scrub: Scrub): CallOutcome {
  const bytes = Buffer.from(packed);
  try {
    const start = 4 + bytes.readUInt32LE(0);
    const head: unknown = JSON.parse(bytes.subarray(4, start).toString("utf8"));
    if (!isRecord(head)) return broken();
    if (isRecord(head["failure"])) return { ok: false, failure: readFailure(head["failure"], scrub) };
    const { resultBytes, files } = head;
    if (typeof resultBytes !== "number" || !Array.isArray(files)) return broken();
    const json = scrub.json(bytes.subarray(start, start + resultBytes).toString("utf8"));
    // What is no JSON ends here and not in the server.
    JSON.parse(json);
    let at = start + resultBytes;
    const read = files.filter(isRecord).map((file) => {
      const size = Number(file["bytes"]);
      const data = new Uint8Array(bytes.subarray(at, at + size));
      at += size;
      return { name: scrub.text(textOf(file["name"], 200) ?? "file").slice(0, 1024), data };
    });
    return { ok: true, json: Buffer.from(json, "utf8"), files: read };
  } catch (error) {
    return broken(error instanceof RangeError ? error.message : undefined);
  }
}

function broken(why = "The piece broke the form of its own result."): CallOutcome {
  return { ok: false, failure: { code: "piece_error", message: why, name: "Error" } };
}
