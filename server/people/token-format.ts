/**
 * What a bearer token looks like: `jkf_<kind>_<43 characters>_<6 characters>`. The prefix lets secret scanners find
 * it, the checksum lets a typo be refused without asking the database.
 */
import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** `agt`: an agent's; `pat`: a person's. */
export type TokenKind = "agt" | "pat";

const FORM = /^(jkf_(?:agt|pat)_[A-Za-z0-9_-]{43})_([0-9A-Za-z]{6})$/;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A new token of 256 random bits. */
export function makeToken(kind: TokenKind): string {
  const body = `jkf_${kind}_${randomBytes(32).toString("base64url")}`;
  return `${body}_${checksum(body)}`;
}

/** Whether a text has the form of a token and the checksum that belongs to it. */
export function isToken(text: string): boolean {
  const [, body, sum] = FORM.exec(text) ?? [];
  return body !== undefined && checksum(body) === sum;
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
