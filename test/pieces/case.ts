/** What a call of a real action says, what the service has to be asked, and what it answers. */
import assert from "node:assert/strict";
import type { CloudAnswer, CloudRequest } from "../fixtures/cloud.ts";
import { secretOf } from "./connections.ts";

export type Check = (request: CloudRequest) => void;

export interface Case {
  readonly piece: string;
  readonly action: string;
  readonly note?: string;
  readonly args: Record<string, unknown>;
  readonly answer?: (request: CloudRequest) => CloudAnswer;
  /** One check for each request, in their order. */
  readonly asked: readonly Check[];
  /** In the text of the result. */
  readonly result?: RegExp;
}

interface Expected {
  /** `POST api.example/path`; the query is not part of it. */
  readonly line: string;
  /** Parameters that the query has among others. */
  readonly query?: Readonly<Record<string, string>>;
  /** Headers, exactly or by a pattern; the credential is one. */
  readonly headers?: Readonly<Record<string, string | RegExp>>;
  /** Members that the body has among others; for text, a part of it. */
  readonly body?: unknown;
}

/** A request as it has to be. */
export function request({ line, query = {}, headers = {}, body }: Expected): Check {
  return (given) => {
    const url = new URL(`https://${given.host}${given.path}`);
    assert.equal(`${given.method} ${given.host}${url.pathname}`, line);
    for (const [name, value] of Object.entries(query)) assert.equal(url.searchParams.get(name), value, `query ${name}`);
    for (const [name, value] of Object.entries(headers)) {
      const found = given.headers[name] ?? "";
      if (typeof value === "string") assert.equal(found, value, `header ${name}`);
      else assert.match(found, value, `header ${name}`);
    }
    if (typeof body === "string")
      assert.ok(given.raw.toString("utf8").includes(body), `body: ${given.raw.toString("utf8")}`);
    else if (body !== undefined) assertPart(given.body, body, "body");
  };
}

/** The members of `part` are in `whole`, at any depth. */
function assertPart(whole: unknown, part: unknown, path: string): void {
  if (typeof part !== "object" || part === null) {
    assert.deepEqual(whole, part, path);
    return;
  }
  if (Array.isArray(part)) {
    assert.ok(Array.isArray(whole), `${path}: ${JSON.stringify(whole)}`);
    for (const [index, item] of part.entries()) assertPart(whole[index], item, `${path}.${index}`);
    return;
  }
  assert.ok(typeof whole === "object" && whole !== null, `${path}: ${JSON.stringify(whole)}`);
  const found = new Map(Object.entries(whole));
  for (const [key, value] of Object.entries(part)) assertPart(found.get(key), value, `${path}.${key}`);
}

/** `Authorization: Bearer` with the secret of a piece. */
export const bearer = (piece: string) => ({ authorization: `Bearer ${secretOf(piece)}` });

/** `Authorization: Basic` with a user's name and the secret of a piece (RFC 7617). */
export const basic = (user: string, piece: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${secretOf(piece)}`).toString("base64")}`,
});

/** Always the same answer. */
export const says =
  (body: unknown, more: Omit<CloudAnswer, "body"> = {}) =>
  (): CloudAnswer => ({ body, ...more });

/** The answer by the beginning of the path. */
export function byPath(answers: Readonly<Record<string, unknown>>): (request: CloudRequest) => CloudAnswer {
  return ({ path }) => {
    const found = Object.entries(answers).find(([start]) => path.includes(start));
    return found === undefined ? { status: 404, body: { error: "no such path" } } : { body: found[1] };
  };
}
