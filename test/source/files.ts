/** The source files of the product, and what each imports. */

import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { blankLiterals } from "./blank-literals.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** One import or re-export. `target` is a path from the root of the repository, or the bare specifier of a package. */
export interface Import {
  readonly specifier: string;
  readonly target: string;
  readonly line: number;
  /** It is erased with the types and loads nothing. */
  readonly typeOnly: boolean;
}

export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** The JavaScript that runs, with comments and the contents of strings blanked; every line where it was. */
  readonly code: string;
  readonly imports: readonly Import[];
}

const FROM = /\b(?:import|export)\b[^;'"`()]*?\bfrom\s*(['"])/gu;
const BARE = /\bimport\s*(['"])/gu;
const DYNAMIC = /\bimport\s*\(\s*(['"`])/gu;

/** Paths of the files under `dir` that have this extension; a directory that is not there has none. */
export function listFiles(dir: string, extension: string): string[] {
  let entries: string[];
  try {
    entries = readdirSync(new URL(dir, `file://${ROOT}`), { recursive: true, encoding: "utf8" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return entries
    .map((entry) => posix.join(dir, entry.replaceAll("\\", "/")))
    .filter((path) => path.endsWith(extension))
    .sort();
}

/** Reads the TypeScript files under these directories. */
export function readSources(...dirs: string[]): SourceFile[] {
  return dirs
    .flatMap((dir) => listFiles(dir, ".ts"))
    .map((path) => parseSource(path, readFileSync(`${ROOT}${path}`, "utf8")));
}

/** Reads one file that is given as text. */
export function parseSource(path: string, text: string): SourceFile {
  // Stripping leaves blanks where types stood, so that positions are the same in both.
  const code = blankLiterals(stripTypeScriptTypes(text));
  const loaded = new Set(findImports(path, text, code).map(({ line, specifier }) => `${line} ${specifier}`));
  const imports = findImports(path, text, blankLiterals(text)).map((found) => ({
    ...found,
    typeOnly: !loaded.has(`${found.line} ${found.specifier}`),
  }));
  return { path, text, code, imports };
}

/** Line number, from 1, of a position. */
export function lineAt(text: string, position: number): number {
  return text.slice(0, position).split("\n").length;
}

function findImports(path: string, text: string, blanked: string): Omit<Import, "typeOnly">[] {
  return [FROM, BARE, DYNAMIC]
    .flatMap((pattern) => [...blanked.matchAll(pattern)])
    .map((match) => {
      const start = match.index + match[0].length;
      const specifier = text.slice(start, blanked.indexOf(match[1]!, start));
      const target = specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : specifier;
      return { specifier, target, line: lineAt(text, start) };
    })
    .sort((a, b) => a.line - b.line);
}
