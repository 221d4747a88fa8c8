/**
 * Text -> terms, the same way for tools and for queries: NFKC, identifiers split at case and digits, English stemmed
 * (Snowball), scripts without spaces cut into overlapping pairs, a short list of stop words dropped.
 */
import { newStemmer } from "snowball-stemmers";

const stemmer = newStemmer("english");

/** Stemming is most of the cost of a build, and words repeat; dropped whole when full. */
const stems = new Map<string, string>();
const MAX_STEMS = 50_000;

// Only words that say nothing about which tool is meant; verbs such as "get" stay, they are in names.
const STOP_WORDS = new Set(
  (
    "a about all also am an and any are as at be because been being both but by can could did do does each else every for " +
    "from had has have he her here his how i if in into is it its just let like may me might more most must my need no " +
    "nor not of on onto or our out over own per please shall she should so some such than that the their them then " +
    "there these they this those through to too up us use used using very via want was we were what when where which " +
    "while who whose why will with would you your"
  ).split(" "),
);

// Han, kana, Hangul and Thai are written without spaces between words.
const UNSPACED = "\\u0e00-\\u0e7f\\u3040-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7af\\uf900-\\ufaff";
const WORDS = new RegExp(`[${UNSPACED}]+|[[\\p{L}\\p{N}\\p{M}]--[${UNSPACED}]]+`, "gv");
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`);

/** Lower-case words of a text in order, identifiers split (`getIssueV2` -> get, issue, v, 2), stop words kept. */
export function splitWords(text: string): string[] {
  const spaced = text
    .normalize("NFKC")
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, "$1 $2")
    .replace(/([A-Za-z])(\d)/g, "$1 $2")
    .replace(/['’]s\b/g, "")
    .toLowerCase()
    .normalize("NFD")
    .replace(/([a-z])\p{Mn}+/gu, "$1")
    .normalize("NFC");
  const words: string[] = [];
  for (const word of spaced.match(WORDS) ?? []) {
    if (!IS_UNSPACED.test(word)) {
      words.push(word);
      continue;
    }
    const characters = [...word];
    if (characters.length === 1) words.push(word);
    for (let at = 0; at + 1 < characters.length; at += 1) words.push(characters[at]! + characters[at + 1]!);
  }
  return words;
}

/** The English stem of a lower-case word. */
export function stem(word: string): string {
  let result = stems.get(word);
  if (result === undefined) {
    // This stemmer undoubles "adding" to "ad"; newer Snowball keeps these short words (release 2.3).
    const short = /^(add|err|egg|off)(?:s|ed|ing)$/.exec(word);
    result = short?.[1] ?? (/^[a-z]+$/.test(word) ? stemmer.stem(word) : word);
    if (stems.size >= MAX_STEMS) stems.clear();
    stems.set(word, result);
  }
  return result;
}

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/** Terms of a text in order, with repetitions. */
export function tokenize(text: string): string[] {
  return splitWords(text)
    .filter((word) => !STOP_WORDS.has(word))
    .map(stem);
}
