/**
 * Takes invisible and control characters out of what an upstream says about itself.
 *
 * A description may hold text that a person who reviews it cannot see and a model obeys (zero-width characters,
 * Unicode tags, bidirectional controls). They are removed and reported. Where a text goes back over the wire (names,
 * keys, enums, patterns), removing would change the call, so there they are only reported.
 */
import type { JsonObject } from "../../adapters/contract.ts";

export interface Finding {
  /** Dotted path inside the definition. */
  path: string;
  /** Distinct characters, as `U+200B`. */
  characters: string[];
  count: number;
  /** False where the text goes back over the wire and was left as it is. */
  removed: boolean;
}

/** C0 but tab and newlines, C1, format characters, fillers, variation selectors, tags, lone surrogates. */
const INVISIBLE =
  /\p{Cc}|\p{Cf}|\p{Cs}|\u034F|[\u115F\u1160\u2028\u2029\u2065\u3164\uFFA0\uFFF0-\uFFF8]|\u17B4|\u17B5|\p{Variation_Selector}|[\u{E0000}-\u{E0FFF}]/gu;

/** Joiners and selectors that are part of how visible text is written: emoji, and scripts that join letters. */
const JOINING =
  "\\p{M}|[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Sinhala}]";
const WRITING = new RegExp(
  [
    "(?<=\\p{Extended_Pictographic}|[#*0-9])\\uFE0F",
    "(?<=\\p{Extended_Pictographic}|\\p{Emoji_Modifier}|\\uFE0F)\\u200D(?=\\p{Extended_Pictographic})",
    `(?<=${JOINING})[\\u200C\\u200D](?=\\p{L})`,
  ].join("|"),
  "gu",
);

/** Values under these keywords go back over the wire or are matched against it. */
const ON_THE_WIRE = new Set([
  "name",
  "uri",
  "uriTemplate",
  "enum",
  "const",
  "default",
  "examples",
  "pattern",
  "$ref",
  "required",
]);

/** Keywords whose keys are names of the upstream and not keywords. */
const NAME_MAPS = new Set(["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"]);

const MAX_FINDINGS = 50;

/**
 * @param definition a tool, prompt, resource or template as its upstream sent it; not changed
 * @returns the same without invisible characters in its texts, and what was found
 */
export function cleanDefinition<Definition extends JsonObject>(
  definition: Definition,
): { definition: Definition; findings: Finding[] } {
  const findings: Finding[] = [];
  const report = (text: string, path: string, removed: boolean): string => {
    const cleaned = visible(text);
    if (cleaned !== text && findings.length < MAX_FINDINGS) findings.push(finding(text, cleaned, path, removed));
    return removed ? cleaned : text;
  };
  const walk = (value: unknown, path: string, wire: boolean, names: boolean): unknown => {
    if (typeof value === "string") return report(value, path, !wire);
    if (Array.isArray(value)) return value.map((item, index) => walk(item, `${path}.${index}`, wire, false));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        const at = path === "" ? key : `${path}.${key}`;
        report(key, at, false);
        const onTheWire = wire || (!names && ON_THE_WIRE.has(key));
        return [key, walk(item, at, onTheWire, !names && !wire && NAME_MAPS.has(key))];
      }),
    );
  };
  const { _meta: meta, ...told } = definition;
  const cleaned = Object.entries(told).map(([key, item]) => {
    const onTheWire = key === "name" || key === "uri" || key === "uriTemplate";
    return [key, walk(item, key, onTheWire, false)];
  });
  const result: Definition = { ...definition, ...Object.fromEntries(cleaned) };
  if (meta !== undefined) Object.assign(result, { _meta: meta });
  return { definition: result, findings };
}

/** The text without invisible and control characters. */
export function visible(text: string): string {
  if (!INVISIBLE.test(text)) return text;
  INVISIBLE.lastIndex = 0;
  const kept = new Set([...text.matchAll(WRITING)].map((match) => match.index));
  return text.replace(INVISIBLE, (character, offset: number) =>
    character === "\t" || character === "\n" || character === "\r" || kept.has(offset) ? character : "",
  );
}

function finding(text: string, cleaned: string, path: string, removed: boolean): Finding {
  const characters = new Set<string>();
  for (const [character] of text.matchAll(INVISIBLE)) {
    if (/[\t\n\r]/.test(character)) continue;
    characters.add(`U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`);
  }
  return {
    path: visible(path),
    characters: [...characters].sort().slice(0, 20),
    count: [...text].length - [...cleaned].length,
    removed,
  };
}
