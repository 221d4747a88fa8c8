/** The operations of the worker's Node that `node:crypto` and web crypto are made of. */
import { hostCrypto } from "./bridge.ts";
import { Buffer, bytesFrom } from "./buffer.ts";

export type Bytes = Uint8Array;

/** Parameters of an operation; undefined ones are left out. */
export type Parameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** An operation that answers with bytes. */
export function compute(operation: string, parameters: Parameters, ...parts: (Bytes | undefined)[]): Bytes {
  const answer = hostCrypto(operation, JSON.stringify(parameters), ...parts);
  if (!(answer instanceof ArrayBuffer)) throw new TypeError(`crypto.${operation} gave no bytes`);
  return new Uint8Array(answer);
}

/** An operation that answers yes or no. */
export function check(operation: string, parameters: Parameters, ...parts: Bytes[]): boolean {
  return hostCrypto(operation, JSON.stringify(parameters), ...parts) === true;
}

/** An operation that answers with text. */
export function tell(operation: string, parameters: Parameters, ...parts: Bytes[]): string {
  return String(hostCrypto(operation, JSON.stringify(parameters), ...parts));
}

/** A Buffer, or text where an encoding is given. */
export function encoded(bytes: Bytes, encoding?: string): Buffer | string {
  const buffer = Buffer.from(bytes);
  return encoding === undefined || encoding === "buffer" ? buffer : buffer.toString(encoding as "hex");
}

export function randomBytesOf(size: number): Buffer {
  const chunks: Bytes[] = [];
  // The worker gives 64 KiB at a time.
  for (let left = size; left > 0; left -= 65_536) chunks.push(compute("random", { size: Math.min(left, 65_536) }));
  return Buffer.concat(chunks);
}

export function fillRandomly<View extends ArrayBufferView>(view: View): View {
  if (view.byteLength > 65_536) throw new DOMException("More than 65536 bytes were asked for", "QuotaExceededError");
  bytesFrom(view).set(randomBytesOf(view.byteLength));
  return view;
}
