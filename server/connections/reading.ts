/** What reading the configuration directory makes, what it collects on its way, and how it looks at folders. */
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";
import { basename, extname, join, relative } from "node:path";
import type { PolicyEntry } from "../access/policy.ts";
import { SLUG_PATTERN } from "../gateway/names.ts";
import type { JackfieldFile } from "./schema.ts";
import type { ConnectionConfig, EndpointConfig } from "./types.ts";
import type { Problem } from "./yaml-file.ts";

export const FIRST_ORGANIZATION = "default";
export const FIRST_ENVIRONMENT = "main";

export interface LoadedConnection {
  slug: string;
  /** File name relative to the configuration directory. */
  source: string;
  config: ConnectionConfig;
}

export interface LoadedEndpoint {
  slug: string;
  source: string;
  config: EndpointConfig;
}

export interface LoadedEnvironment {
  slug: string;
  /** Whether an `environment.yml` says its label, parent and denials. */
  declared: boolean;
  label?: string;
  parent?: string;
  forbid: PolicyEntry[];
  connections: LoadedConnection[];
  endpoints: LoadedEndpoint[];
}

export interface LoadedOrganization {
  slug: string;
  environments: LoadedEnvironment[];
}

export interface LoadedConfig {
  organizations: LoadedOrganization[];
  jackfield: JackfieldFile;
  /** What is accepted and does nothing yet, or deserves a second look. */
  notes: Problem[];
  /** `Missing NAME`: the connection that needs it fails, everything else is served. */
  missing: Problem[];
  /** Where there is one, nothing of this may be published. */
  errors: Problem[];
}

/** What reading collects on its way. */
export interface Reading {
  /** Absolute configuration directory. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  jackfield: JackfieldFile;
  readonly notes: Problem[];
  readonly missing: Problem[];
  readonly errors: Problem[];
}

export function yamlFilesIn(dir: string): string[] {
  if (!isDirectory(dir)) return [];
  return readdirSync(dir)
    .filter((name) => /\.ya?ml$/.test(name) && !name.startsWith(".") && !isApiDocument(join(dir, name)))
    .sort();
}

/** Documents of OpenAPI connections stand beside the files that name them. */
function isApiDocument(path: string): boolean {
  try {
    const start = Buffer.alloc(4096);
    const file = openSync(path, "r");
    try {
      return /^["']?(?:openapi|swagger)["']?\s*:/m.test(start.toString("utf8", 0, readSync(file, start)));
    } finally {
      closeSync(file);
    }
  } catch {
    // Whoever reads the file itself says what is wrong with it.
    return false;
  }
}

/** The YAML files of a folder whose name is the slug of what they declare. */
export function slugFilesIn(reading: Reading, dir: string): { slug: string; file: string; path: string }[] {
  const files = yamlFilesIn(dir).map((name) => ({
    slug: basename(name, extname(name)),
    file: relative(reading.root, join(dir, name)),
    path: join(dir, name),
  }));
  return files.filter(({ slug, file }) => isSlug(reading, slug, file));
}

export function readText(path: string): string {
  return readFileSync(path, "utf8");
}

export function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}

export function directoriesIn(reading: Reading, dir: string): string[] {
  if (!isDirectory(dir)) return [];
  const names = readdirSync(dir)
    .filter((name) => !name.startsWith(".") && isDirectory(join(dir, name)))
    .sort();
  return names.filter((name) => isSlug(reading, name, relative(reading.root, join(dir, name))));
}

export function isDirectory(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

function isSlug(reading: Reading, slug: string, file: string): boolean {
  if (SLUG_PATTERN.test(slug)) return true;
  const message = "the name must start with a letter and hold at most 24 lower-case letters, digits and single hyphens";
  reading.errors.push({ file, message });
  return false;
}
