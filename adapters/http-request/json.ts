/** Reading JSON that somebody else wrote: every look at it says what it expects. */
import type { JsonObject } from "../contract.ts";

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value where it is an object, else an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function arrayOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value where it is text, else undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function stringsOf(value: unknown): string[] {
  return arrayOf(value).filter((item) => typeof item === "string");
}

/** A property that the object itself has: `constructor` and its like are names as any other. */
export function own(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** An object of these entries; `__proto__` becomes a property like others. */
export function fromEntries(entries: Iterable<readonly [string, unknown]>): JsonObject {
  return Object.fromEntries(entries);
}
