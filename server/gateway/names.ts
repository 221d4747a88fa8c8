/**
 * Public names of tools and prompts: `<connection>__<action>`.
 *
 * The rule comes from what hosts do with names (design, section 6): 48 characters survive every host's own prefix,
 * a dot or a capital does not survive all of them, and some merge `-` with `_`. Names are therefore legal in
 * `^[a-z][a-z0-9_-]*$`, at most 48 long, and unique with `-` and `_` folded together.
 *
 * Pure: what was given out before is handed in, and is never changed.
 */
import { createHash } from "node:crypto";

export const MAX_NAME = 48;
export const NAME_PATTERN = /^[a-z][a-z0-9_-]*$/;

/** A connection's slug: `--` and a last `-` are left out, so that a folded name splits at its first `__` only. */
export const SLUG_PATTERN = /^(?=.{1,24}$)[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

const HASH_LENGTH = 6;

/** The form in which names are compared: hosts such as Codex turn `-` into `_`. */
export function foldName(name: string): string {
  return name.replaceAll("-", "_");
}

/**
 * Gives each upstream name of one connection its public name.
 *
 * @param slug the connection's slug
 * @param upstreamNames the upstream's own names, each once, in any order: the result does not depend on it
 * @param existing what was given out before (upstream name -> public name), gone tools included
 * @returns upstream name -> public name, for `upstreamNames` only
 */
export function assignNames(
  slug: string,
  upstreamNames: readonly string[],
  existing: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const taken = new Set<string>();
  for (const name of existing.values()) taken.add(foldName(name));
  const assigned = new Map<string, string>();
  const contenders = new Map<string, string[]>();
  for (const upstreamName of new Set(upstreamNames)) {
    const known = existing.get(upstreamName);
    if (known !== undefined) {
      assigned.set(upstreamName, known);
      continue;
    }
    const plain = foldName(plainName(slug, upstreamName) ?? "");
    const group = contenders.get(plain);
    if (group) group.push(upstreamName);
    else contenders.set(plain, [upstreamName]);
  }
  const hashed: string[] = [];
  for (const [plain, group] of contenders) {
    const winner = plain === "" || taken.has(plain) ? undefined : winnerOf(slug, group);
    for (const upstreamName of group) {
      if (upstreamName !== winner) hashed.push(upstreamName);
    }
    if (winner === undefined) continue;
    assigned.set(winner, plainName(slug, winner) ?? "");
    taken.add(plain);
  }
  // Sorted, so that the same set of names gives the same result whatever order the upstream lists them in.
  for (const upstreamName of hashed.sort()) {
    const name = hashedName(slug, upstreamName, taken);
    assigned.set(upstreamName, name);
    taken.add(foldName(name));
  }
  return assigned;
}

/** The only contender, or the only one that is spelled exactly like its public name; else nobody gets the plain form. */
function winnerOf(slug: string, group: readonly string[]): string | undefined {
  if (group.length === 1) return group[0];
  const exact = group.filter((upstreamName) => plainName(slug, upstreamName) === `${slug}__${upstreamName}`);
  return exact.length === 1 ? exact[0] : undefined;
}

/** The name without a hash; undefined where nothing legal is left or it is too long. */
function plainName(slug: string, upstreamName: string): string | undefined {
  const action = legalAction(upstreamName);
  const name = `${slug}__${action}`;
  return action === "" || name.length > MAX_NAME ? undefined : name;
}

function hashedName(slug: string, upstreamName: string, taken: ReadonlySet<string>): string {
  const prefix = `${slug}__`;
  const room = MAX_NAME - prefix.length - HASH_LENGTH - 1;
  const action =
    legalAction(upstreamName)
      .slice(0, room)
      .replace(/[_-]+$/, "") || "tool";
  for (let attempt = 0; ; attempt += 1) {
    const name = `${prefix}${action}_${shortHash(`${slug}__${upstreamName}`, attempt)}`;
    if (!taken.has(foldName(name))) return name;
  }
}

/** `getUserByID` -> `get_user_by_id`, `Create Customer` -> `create_customer`, `a.b/c` -> `a_b_c`. */
function legalAction(upstreamName: string): string {
  return upstreamName
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "_")
    .replace(/^[_-]+|[_-]+$/g, "");
}

/** Six characters of [a-z0-9], from the SHA-256 of the full name. */
export function shortHash(text: string, attempt = 0): string {
  const digest = createHash("sha256")
    .update(attempt === 0 ? text : `${text}\0${attempt}`)
    .digest();
  return (digest.readUIntBE(0, 6) % 36 ** HASH_LENGTH).toString(36).padStart(HASH_LENGTH, "0");
}
