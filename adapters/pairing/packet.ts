/**
 * What a pairing packet says (docs/pairing.md): text of a provider, made for people, with one line
 * `jackfield-pair: <URL> <claim> [scope="..."]` in it. Pure; nothing here is ever part of an error.
 */

/** A packet that can be redeemed. */
export interface Packet {
  /** Where its provider says it belongs; only the origin counts, and only to be compared. */
  readonly origin: string;
  /** The one-time secret. */
  readonly claim: string;
  /** The scope the packet was made for, as a set of words; undefined where it says none. */
  readonly scope: readonly string[] | undefined;
}

/** Characters of a whole packet. */
export const MAX_PACKET = 16_384;

const MARK = /^[ \t>`*]*jackfield-pair[ \t]*:(.*)$/gim;
const LINE = /^[ \t]+(\S{1,2048})[ \t]+([A-Za-z0-9._~+/=-]{8,2048})(?:[ \t]+scope="([^"]{0,2000})")?[ \t`*]*$/;
/** RFC 6749, section 3.3: `scope-token`. */
const SCOPE_WORD = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Reads a packet, or says in words that give nothing of it away why it cannot be read. */
export function parsePacket(text: string): Packet | { problem: string } {
  if (text.length > MAX_PACKET) return { problem: `The packet is longer than ${MAX_PACKET} characters.` };
  const lines = new Set([...text.replaceAll("\r", "\n").matchAll(MARK)].map((match) => match[1]!.trimEnd()));
  if (lines.size === 0) return { problem: 'The text has no line "jackfield-pair: <URL> <claim>".' };
  if (lines.size > 1) return { problem: "The text has several pairing lines; pass one packet at a time." };
  const match = LINE.exec([...lines][0]!);
  if (match === null) return { problem: 'The pairing line is not "jackfield-pair: <URL> <claim>".' };
  const [, address, claim, scope] = match;
  const url = URL.canParse(address!) ? new URL(address!) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return { problem: "The address in the pairing line is not an https URL." };
  }
  if (url.username !== "" || url.password !== "")
    return { problem: "The address in the pairing line carries a login." };
  const words = scope === undefined ? undefined : scopeWords(scope);
  if (scope !== undefined && (words === undefined || words.length === 0)) {
    return { problem: "The scope in the pairing line cannot be read." };
  }
  return { origin: url.origin, claim: claim!, scope: words };
}

/** The words of a scope, sorted and each once (RFC 6749, section 3.3: their order does not matter); undefined: no scope. */
export function scopeWords(scope: string): string[] | undefined {
  const words = scope.split(" ").filter((word) => word !== "");
  return words.every((word) => SCOPE_WORD.test(word)) ? [...new Set(words)].sort() : undefined;
}
