/** `node:util` and `node:util/types`: the package, with what newer versions of Node added. */
import util from "util/";
import { standIn } from "./unavailable.ts";

const custom = Symbol.for("nodejs.util.inspect.custom");

/** Deep equality as far as JSON can tell, which is what pieces compare. */
function isDeepStrictEqual(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  try {
    return JSON.stringify(left) === JSON.stringify(right);
  } catch {
    // Circular or a bigint: only identity is known.
    return false;
  }
}

const additions = {
  isDeepStrictEqual,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what is taken out begins with one
  stripVTControlCharacters: (text: unknown) => String(text).replaceAll(/\u001b\[[0-9;]*m/g, ""),
  toUSVString: (text: unknown) => String(text).toWellFormed(),
  styleText: (_style: unknown, text: unknown) => String(text),
  debuglog: () => Object.assign(() => undefined, { enabled: false }),
  debug: () => Object.assign(() => undefined, { enabled: false }),
  getSystemErrorName: () => "UNKNOWN",
  getSystemErrorMap: () => new Map(),
  parseArgs: standIn("util.parseArgs"),
  MIMEType: standIn("util.MIMEType"),
};
Object.assign(util, additions);
util.inspect.defaultOptions ??= {};
if (util.inspect.custom === undefined) Object.assign(util.inspect, { custom });
if (util.promisify.custom === undefined) {
  Object.assign(util.promisify, { custom: Symbol.for("nodejs.util.promisify.custom") });
}

export { util };
