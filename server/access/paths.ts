/** The canonical form of a path in an argument, so that a guard sees where it leads and not how it is written. */

/**
 * Applies `./`, `//` and `..`; keeps a leading and a trailing `/`. Returns undefined for a path that cannot be judged:
 * one that leaves its start by `..`, holds a NUL, or hides a `..` behind a backslash or percent-encoding, which the
 * service behind the connection may read differently from us.
 */
export function canonicalPath(path: string): string | undefined {
  if (path.includes("\0") || hidesParent(path)) return undefined;
  const absolute = path.startsWith("/");
  const kept: string[] = [];
  const segments = path.split("/");
  for (const segment of segments) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") kept.push(segment);
    else if (kept.length > 0) kept.pop();
    else if (!absolute) return undefined;
  }
  const last = segments[segments.length - 1];
  const directory = kept.length > 0 && (last === "" || last === "." || last === "..");
  return (absolute ? "/" : "") + kept.join("/") + (directory ? "/" : "");
}

/** Whether a `..` appears only after reading `\\` as `/`, look-alikes as ASCII, or percent-encoding up to twice. */
function hidesParent(path: string): boolean {
  const parents = (text: string) => text.split("/").filter((segment) => segment === "..").length;
  const written = parents(path);
  let read = path.normalize("NFKC");
  for (let round = 0; round < 3; round += 1) {
    if (parents(read.replaceAll("\\", "/")) > written) return true;
    read = read.replace(/%(?:2e|2f|5c|25)/gi, (hex) => String.fromCharCode(Number.parseInt(hex.slice(1), 16)));
  }
  return false;
}
