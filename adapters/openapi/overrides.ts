/** `overrides` of a connection: patterns over operation names that say what an operation's method does not. */

export interface Overrides {
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/** Methods without side effects (RFC 9110, 9.2.1; QUERY: RFC 9110 extension of OpenAPI 3.2). */
const READS = new Set(["GET", "HEAD", "OPTIONS", "QUERY"]);

/** Write wins over read, and both over the method. */
export function classOf(method: string, action: string, overrides: Overrides): "read" | "write" {
  if (overrides.write.some((pattern) => matches(pattern, action))) return "write";
  if (overrides.read.some((pattern) => matches(pattern, action))) return "read";
  return READS.has(method) ? "read" : "write";
}

/** `*` any run, `?` one character, `{a,b}` alternatives, `\` escapes; the whole name. Alternatives do not nest. */
export function matches(pattern: string, name: string): boolean {
  return alternatives(pattern).some((each) => matchesPlain(tokens(each), [...name]));
}

type Token = { any: true } | { one: true } | { character: string };

function alternatives(pattern: string): string[] {
  const open = unescaped(pattern, "{", 0);
  const close = open === -1 ? -1 : unescaped(pattern, "}", open);
  if (close === -1) return [pattern];
  const rest = alternatives(pattern.slice(close + 1));
  const choices: string[] = [];
  let from = open + 1;
  for (let at = unescaped(pattern, ",", from); at !== -1 && at < close; at = unescaped(pattern, ",", from)) {
    choices.push(pattern.slice(from, at));
    from = at + 1;
  }
  choices.push(pattern.slice(from, close));
  return choices.flatMap((choice) => rest.map((tail) => pattern.slice(0, open) + choice + tail)).slice(0, 1000);
}

function unescaped(pattern: string, character: string, from: number): number {
  for (let at = from; at < pattern.length; at += 1) {
    if (pattern[at] === "\\") at += 1;
    else if (pattern[at] === character) return at;
  }
  return -1;
}

function tokens(pattern: string): Token[] {
  const out: Token[] = [];
  const characters = [...pattern];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "\\") out.push({ character: characters[++at] ?? "\\" });
    else if (character === "*") out.push({ any: true });
    else out.push(character === "?" ? { one: true } : { character });
  }
  return out;
}

/** In time of pattern times name: only the last `*` is tried again. */
function matchesPlain(pattern: readonly Token[], name: readonly string[]): boolean {
  let at = 0;
  let star = -1;
  let retry = 0;
  for (let index = 0; index < name.length; ) {
    const token = pattern[at];
    if (token !== undefined && ("one" in token || ("character" in token && token.character === name[index]))) {
      at += 1;
      index += 1;
    } else if (token !== undefined && "any" in token) {
      star = at;
      retry = index;
      at += 1;
    } else if (star === -1) return false;
    else {
      at = star + 1;
      retry += 1;
      index = retry;
    }
  }
  return pattern.slice(at).every((token) => "any" in token);
}
