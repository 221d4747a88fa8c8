/** Texts of a document as they are shown: one paragraph at a time, no markup, nothing invisible, not too long. */
import { createHash } from "node:crypto";

const HASH_LENGTH = 6;

/** Most texts hold nothing that would have to go. */
const PLAIN = /^[\w .,;:()'"/\-`*[\]{}=+?$%@#|\\~^]*$/;

/** Text without HTML, images and control characters. */
export function plainText(text: string, most = 20_000): string {
  const start = text.length > most ? text.slice(0, most) : text;
  if (PLAIN.test(start) && !start.includes("  ")) return start.trim();
  return start
    .toWellFormed()
    .replace(/<!--[\s\S]*?-->|<(script|style)\b[\s\S]*?<\/\1>/gi, " ")
    .replace(/<\/?(?:p|br|div|li|tr|h[1-6])\b[^>]*>/gi, "\n")
    .replace(/<\/?[a-z][^<>]*>/gi, "")
    .replace(/!\[[^\]]*\]\([^)]*\)/g, "")
    .replace(/&nbsp;/g, " ")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, "&")
    .replace(/[^\S\n]+/g, " ")
    .replace(/[\p{Cf}\p{Cs}]|(?!\n)\p{Cc}/gu, "")
    .replace(/ ?\n ?/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

/** One line of at most `most` characters, cut between words. */
export function clipped(text: string, most: number): string {
  return shortened(plainText(text, most * 4 + 200).replace(/\s+/g, " "), most);
}

/** The same of what is one plain line already. */
export function shortened(line: string, most: number): string {
  if (line.length <= most) return line;
  const cut = line.slice(0, most - 1);
  const space = cut.lastIndexOf(" ");
  return `${(space > most / 2 ? cut.slice(0, space) : cut).toWellFormed()}…`;
}

/** At most `most` characters, cut after a sentence where there is one. */
export function cutAtSentence(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(0, most - 1);
  const end = Math.max(cut.lastIndexOf(". "), cut.lastIndexOf(".\n"), cut.lastIndexOf("\n\n"));
  return `${(end > most / 2 ? cut.slice(0, end + 1) : cut).trimEnd().toWellFormed()}…`;
}

/** Six characters of [a-z0-9] out of a text, always the same. */
export function shortHash(text: string): string {
  const digest = createHash("sha256").update(text).digest();
  return (digest.readUIntBE(0, 6) % 36 ** HASH_LENGTH).toString(36).padStart(HASH_LENGTH, "0");
}
