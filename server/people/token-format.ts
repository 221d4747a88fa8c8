/**
 * What a bearer token looks like: `jkf_<kind>_<43 characters>_<6 characters>`. The prefix lets secret scanners find
 * it, the checksum lets a typo be refused without asking the database.
 */
import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** `agt`: an agent's; `pat`: a person's; `oat`, `ort`: access and refresh tokens of what a person allowed a client. */
export type TokenKind = "agt" | "pat" | "oat" | "ort";

const FORM = /^(jkf_(agt|pat|oat|ort)_[A-Za-z0-9_-]{43})_([0-9A-Za-z]{6})$/;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A new token of 256 random bits. */
export function makeToken(kind: TokenKind): string {
  const body = `jkf_${kind}_${randomBytes(32).toString("base64url")}`;
  return `${body}_${checksum(body)}`;
}

/** Whether a text has the form of a token, of one of these kinds where any are named, and its checksum. */
export function isToken(text: string, ...kinds: readonly TokenKind[]): boolean {
  const [, body, kind, sum] = FORM.exec(text) ?? [];
  const fits = kinds.length === 0 || kinds.some((one) => one === kind);
  return fits && body !== undefined && checksum(body) === sum;
}

/** What is stored instead of the token: SHA-256 in hexadecimal. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** CRC-32 in base 62, six characters. */
function checksum(body: string): string {
  let rest = crc32(body);
  let text = "";
  for (let place = 0; place < 6; place += 1) {
    text = (BASE62[rest % 62] ?? "") + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
