/**
 * The time in which a refresh token works once more after it was used. Clients refresh in parallel, from several
 * processes, in bursts of more than a minute, and lose answers: without it each of these looks like theft and ends the
 * session for good.
 */

/**
 * Whether a refresh token that was used before still counts as unused. Each use in this time gets a successor of its
 * own; after it, any use ends the whole family.
 * @param consumedAt when it was used first; later uses must not move it, or the time would never end
 */
export function isInGrace(consumedAt: Date, now: number, graceMs: number): boolean {
  return now - consumedAt.getTime() < graceMs;
}
