/** Text of a program without what only looks like program. */

const REGEX_MAY_FOLLOW = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|delete|void|throw|new))\s*$/u;
const REGEX_LITERAL = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/uy;

/**
 * Replaces comments, the contents of strings and of regular expressions by blanks. Quotes and line breaks stay, and so
 * does the length, so that a position means the same in both texts. Expressions inside templates stay as code.
 */
export function blankLiterals(source: string): string {
  const out = source.split("");
  /** For each open template expression, how many braces are open inside it. */
  const templates: number[] = [];
  let position = 0;

  const blank = (from: number, to: number): void => {
    for (let index = from; index < to; index++) if (out[index] !== "\n") out[index] = " ";
  };
  const skipTemplate = (from: number): number => {
    let index = from;
    while (index < source.length && source[index] !== "`") {
      if (source.startsWith("${", index)) {
        blank(from, index);
        templates.push(0);
        return index + 2;
      }
      index += source[index] === "\\" ? 2 : 1;
    }
    blank(from, Math.min(index, source.length));
    return index + 1;
  };

  while (position < source.length) {
    const character = source[position]!;
    if (source.startsWith("//", position) || source.startsWith("#!", position)) {
      const end = source.indexOf("\n", position);
      const stop = end === -1 ? source.length : end;
      blank(position, stop);
      position = stop;
    } else if (source.startsWith("/*", position)) {
      const end = source.indexOf("*/", position + 2);
      const stop = end === -1 ? source.length : end + 2;
      blank(position, stop);
      position = stop;
    } else if (character === '"' || character === "'") {
      let end = position + 1;
      while (end < source.length && source[end] !== character && source[end] !== "\n") {
        end += source[end] === "\\" ? 2 : 1;
      }
      blank(position + 1, end);
      position = end + 1;
    } else if (character === "`") {
      position = skipTemplate(position + 1);
    } else if (templates.length > 0 && (character === "{" || character === "}")) {
      const depth = templates.pop()!;
      position += 1;
      if (character === "{") templates.push(depth + 1);
      else if (depth > 0) templates.push(depth - 1);
      else position = skipTemplate(position);
    } else if (character === "/" && REGEX_MAY_FOLLOW.test(out.slice(Math.max(0, position - 40), position).join(""))) {
      REGEX_LITERAL.lastIndex = position;
      const end = position + (REGEX_LITERAL.exec(source)?.[0].length ?? 1);
      blank(position + 1, end);
      position = end;
    } else {
      position += 1;
    }
  }
  return out.join("");
}
