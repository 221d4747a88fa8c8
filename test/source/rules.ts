/** The rules of ARCHITECTURE.md about which file may use what; each answers with `file:line: what is wrong`. */

import { basename, extname } from "node:path";
import { type Import, lineAt, type SourceFile } from "./files.ts";

/** From the bottom up. A room may import from its own row and from the rows above it in this list. */
const ROWS: readonly (readonly string[])[] = [
  ["server/config.ts", "server/errors.ts", "server/version.ts", "server/observe/"],
  [
    ...["server/search/", "server/access/", "server/vault/", "server/egress/", "server/store/"],
    ...["server/shared-state/", "server/assets/"],
  ],
  ["server/gateway/", "server/connections/", "server/pieces/", "server/signin/", "server/people/"],
  ["server/mcp/", "server/oauth/", "server/admin/", "server/api/", "server/cli/"],
  ["server/app.ts", "server/app/", "server/routes.ts"],
  ["server/main.ts"],
];

/** Files of a low room that stand higher: audit rows are written to the store and sealed with vault keys. */
const HIGHER = /^server\/observe\/audit(?:-[a-z-]+)?\.ts$/;

/** Modules that open sockets or look up names. */
const SOCKET_MODULES: ReadonlySet<string> = new Set([
  ...["http", "https", "http2", "net", "tls", "dgram", "dns", "dns/promises"].flatMap((name) => [name, `node:${name}`]),
  "undici",
  "ioredis",
  "mysql2",
  "mysql2/promise",
  "ws",
]);

/** Who may use which of them outside of server/egress/, which may use all: our own listener and the two drivers. */
const SOCKET_EXEMPTIONS: Readonly<Record<string, readonly string[]>> = {
  "server/app/listener.ts": ["node:http"],
  "server/store/database.ts": ["mysql2"],
  "server/shared-state/redis.ts": ["ioredis"],
};

const SOCKET_GLOBALS = ["fetch", "WebSocket", "EventSource"] as const;
const VAGUE_NAMES: ReadonlySet<string> = new Set(["utils", "util", "helpers", "helper", "services", "common", "misc"]);

/** Imports against the direction of the rooms, those for types included. */
export function againstDirection(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const own = rowOf(file.path);
    if (!file.path.startsWith("server/")) return [];
    if (own === undefined) return [`${file.path}:1: belongs to no room of server/`];
    return file.imports.flatMap((found) => {
      if (!found.target.startsWith("server/")) return [];
      const other = rowOf(found.target);
      return other !== undefined && other <= own ? [] : [describe(file, found, "stands above it")];
    });
  });
}

/** Imports of `adapters/`, `sandbox/` and `migrations/` from where they may not take anything. */
export function outsideOwnRoom(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const allowed = allowedOutside(file.path);
    if (allowed === undefined) return [];
    return file.imports
      .filter((found) => isOurs(found) && !allowed.some((prefix) => found.target.startsWith(prefix)))
      .map((found) => describe(file, found, `may import only from ${allowed.join(", ")}`));
  });
}

/** `access/` decides and does nothing else: it imports itself and the error table, no package and no part of Node. */
export function impureAccess(files: readonly SourceFile[]): string[] {
  return files
    .filter((file) => file.path.startsWith("server/access/"))
    .flatMap((file) =>
      file.imports
        .filter(({ target }) => !target.startsWith("server/access/") && target !== "server/errors.ts")
        .map((found) => describe(file, found, "access/ imports nothing but the errors")),
    );
}

/** Uses of the network around egress. Type imports open nothing and are free. */
export function aroundEgress(files: readonly SourceFile[]): string[] {
  return files
    .filter((file) => /^(?:server|adapters)\//u.test(file.path) && !file.path.startsWith("server/egress/"))
    .flatMap((file) => {
      const exempt = SOCKET_EXEMPTIONS[file.path] ?? [];
      const modules = file.imports
        .filter((found) => !found.typeOnly && SOCKET_MODULES.has(found.specifier) && !exempt.includes(found.specifier))
        .map((found) => describe(file, found, "goes around egress"));
      return [...modules, ...globalUses(file)];
    });
}

/** Files and folders whose names say nothing about their subject. */
export function vaguelyNamed(paths: readonly string[]): string[] {
  return paths
    .filter((path) => path.split("/").some((part) => VAGUE_NAMES.has(basename(part, extname(part)))))
    .map((path) => `${path}:1: the name does not say what is in it`);
}

/**
 * Fields of Sequelize models that are not declared with `declare`. Such a field is created on every instance and hides
 * the model's own getter of that name.
 */
export function undeclaredModelFields(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    [...file.code.matchAll(/\bclass\b[^{]*\bextends\s+(?:\w+\.)?Model\b[^{]*\{/gu)].flatMap((match) => {
      const start = match.index + match[0].length;
      return fieldsOfBody(file.code, start).map(
        ({ name, position }) => `${file.path}:${lineAt(file.code, position)}: field ${name} of a model needs declare`,
      );
    }),
  );
}

function rowOf(path: string): number | undefined {
  const row = HIGHER.test(path) ? 1 : ROWS.findIndex((rooms) => rooms.some((room) => path.startsWith(room)));
  return row === -1 ? undefined : row;
}

function allowedOutside(path: string): readonly string[] | undefined {
  // What runs code of strangers is handed to an adapter; only its types are imported.
  if (path.startsWith("adapters/")) return ["adapters/", "sandbox/contract.ts"];
  // The worker runs foreign code: of the parent it knows only the messages.
  if (/^sandbox\/(?:worker|isolate)/u.test(path)) return ["sandbox/protocol.ts", "sandbox/isolate", "sandbox/runtime/"];
  // What code inside sees knows nothing of who runs it.
  if (path.startsWith("sandbox/runtime/")) return ["sandbox/runtime/"];
  if (path.startsWith("sandbox/")) return ["sandbox/"];
  if (path.startsWith("migrations/")) return ["server/store/", "migrations/"];
  return undefined;
}

function isOurs(found: Import): boolean {
  return found.specifier.startsWith(".");
}

function describe(file: SourceFile, found: Import, what: string): string {
  return `${file.path}:${found.line}: ${found.target}: ${what}`;
}

/** Uses of a global of the network; a name that the file declares itself is what was handed in. */
function globalUses(file: SourceFile): string[] {
  return SOCKET_GLOBALS.flatMap((name) => {
    const explicit = [...file.code.matchAll(new RegExp(`\\b(?:globalThis|global|window)\\s*\\.\\s*${name}\\b`, "gu"))];
    // Any mention but `a.fetch`, the key in `{ fetch: handed }` and the method in `{ fetch(url) { ... } }`.
    const bare = [...file.code.matchAll(new RegExp(`(?<![.\\w$])${name}\\b(?!\\s*:)`, "gu"))].filter(
      (match) => !isMethod(file.code, match.index + name.length),
    );
    return [...explicit, ...(declares(file.code, name) ? [] : bare)].map(
      (match) => `${file.path}:${lineAt(file.code, match.index)}: global ${name}: goes around egress`,
    );
  });
}

/** Whether the code declares this name: as a variable or function, as a parameter, or taken out of an object. */
function declares(code: string, name: string): boolean {
  const statement = new RegExp(`\\b(?:const|let|var|function|class)\\s+${name}\\b`, "u");
  // `{ a, fetch } =`, `(a, { fetch }) =>` and `(fetch) {`: what closes after the name is followed by =, => or a body.
  const binding = new RegExp(`[{,(]\\s*${name}\\s*(?=[,})=])(?=[^;]*?(?:\\}\\s*=|\\)\\s*(?:=>|\\{)))`, "u");
  return statement.test(code) || binding.test(code);
}

/** Whether what stands at `position` are the parameters of a method: parentheses with a body behind them. */
function isMethod(code: string, position: number): boolean {
  if (code[position] !== "(") return false;
  let depth = 1;
  let index = position + 1;
  for (; index < code.length && depth > 0; index++) {
    if (code[index] === "(") depth += 1;
    if (code[index] === ")") depth -= 1;
  }
  return /^\s*\{/u.test(code.slice(index));
}

/** Fields that are defined directly in the class body that starts at `start`. */
function fieldsOfBody(code: string, start: number): { name: string; position: number }[] {
  const fields: { name: string; position: number }[] = [];
  let depth = 0;
  let member = start;
  for (let index = start; index < code.length; index++) {
    const character = code[index]!;
    if (depth === 0 && character === "}") break;
    if ("{([".includes(character)) depth += 1;
    if ("})]".includes(character)) depth -= 1;
    const ends = depth === 0 && (character === ";" || character === "}");
    if (!ends) continue;
    const text = code.slice(member, index + 1);
    const field = /^\s*(?!static\b)#?(\w+)\s*(?:=[^>]|;)/u.exec(text);
    if (field) fields.push({ name: field[1]!, position: member + text.search(/\S/u) });
    member = index + 1;
  }
  return fields;
}
