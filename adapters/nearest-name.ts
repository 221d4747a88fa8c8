/** Which known name somebody may have meant. */

/** The candidate that is spelled most like a name; undefined where none comes close. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  const folded = fold(name);
  let best: { name: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const other = fold(candidate);
    const within = other.includes(folded) || folded.includes(other);
    const distance = within ? Math.abs(other.length - folded.length) / 4 : editDistance(folded, other);
    if (best === undefined || distance < best.distance) best = { name: candidate, distance };
  }
  return best !== undefined && best.distance <= Math.max(2, folded.length / 3) ? best.name : undefined;
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "");
}

/** Levenshtein's distance; long names are compared by their beginnings. */
function editDistance(left: string, right: string): number {
  const a = left.slice(0, 64);
  const b = right.slice(0, 64);
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[b.length] ?? a.length;
}
