/**
 * Built-ins as they were before any piece ran. A piece may replace what stands on prototypes; what is measured before
 * it leaves the isolate is measured with these.
 */

const { apply } = Reflect;

/** A method as a function of its receiver, safe from later changes to its prototype. */
function uncurried<This, Args extends unknown[], Result>(
  method: (this: This, ...args: Args) => Result,
): (self: This, ...args: Args) => Result {
  return (self, ...args) => apply(method, self, args);
}

function getterOf(prototype: object, name: string): (self: unknown) => unknown {
  const getter: unknown = Reflect.getOwnPropertyDescriptor(prototype, name)?.get;
  if (typeof getter !== "function") throw new TypeError(`no getter ${name}`);
  return (self) => apply(getter, self, []);
}

const byteLengthGetter = getterOf(ArrayBuffer.prototype, "byteLength");
const Bytes = Uint8Array;
const Buffers = ArrayBuffer;
const setBytes = uncurried(Uint8Array.prototype.set);

export const sliceText: (text: string, start: number, end: number) => string = uncurried(String.prototype.slice);
export const stringify = JSON.stringify;
export const keysOf = Reflect.ownKeys;

/** Bytes of an ArrayBuffer. Throws for everything else. */
export function byteLengthOf(buffer: unknown): number {
  return Number(byteLengthGetter(buffer));
}

/** A copy that is an ArrayBuffer of exactly the bytes of `buffer`, whatever its prototype says now. */
export function copyOf(buffer: ArrayBuffer): ArrayBuffer {
  const copy = new Buffers(byteLengthOf(buffer));
  setBytes(new Bytes(copy), new Bytes(buffer));
  return copy;
}
