/**
 * Names and versions of pieces. Both become parts of paths and arguments of npm, so nothing is taken that the grammar
 * of npm does not allow: no `..`, no tag, no range, no URL.
 */

/** Where a short name lives. */
const SCOPE = "@activepieces/piece-";
const PART = "[a-z0-9](?:[a-z0-9_-]|\\.(?!\\.)){0,99}";
const SHORT = new RegExp(`^${PART}$`);
const SCOPED = new RegExp(`^@${PART}/${PART}$`);
/** Semantic versioning 2.0.0, without a build. */
const VERSION = /^(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})(?:-[0-9A-Za-z.-]{1,64})?$/;
/** Subresource Integrity as npm writes it. */
const INTEGRITY = /^sha512-[A-Za-z0-9+/]{86}==$/;

export interface PieceVersion {
  /** The npm package, e.g. `@activepieces/piece-slack`. */
  name: string;
  version: string;
}

/** The package of a short name (`slack`) or of a package's own (`@acme/piece-crm`); undefined where it is neither. */
export function packageOf(name: string): string | undefined {
  if (SCOPED.test(name)) return name;
  return SHORT.test(name) && !name.includes("..") ? `${SCOPE}${name}` : undefined;
}

/** `slack` for `@activepieces/piece-slack`, `crm` for `@acme/piece-crm`. */
export function shortName(name: string): string {
  const last = name.split("/").at(-1) ?? name;
  return last.replace(/^piece-/, "");
}

export function isVersion(version: string): boolean {
  return VERSION.test(version) && !version.includes("..");
}

export function isIntegrity(integrity: string): boolean {
  return INTEGRITY.test(integrity);
}

/** Reads `name@version`; undefined for anything that is not one exact version. */
export function readSpec(spec: string): PieceVersion | undefined {
  const at = spec.lastIndexOf("@");
  const name = packageOf(spec.slice(0, Math.max(at, 0)));
  const version = spec.slice(at + 1);
  return name !== undefined && isVersion(version) ? { name, version } : undefined;
}

export function specOf({ name, version }: PieceVersion): string {
  return `${name}@${version}`;
}
