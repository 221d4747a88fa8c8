/** Stand-ins for what the sandbox does not have: they load, and say what is missing when they are used. */

/** The error that a stand-in throws; the worker tells it as `unsupported_in_tool`. */
export function unavailable(what: string): Error {
  return Object.assign(new Error(`${what} is not available in the sandbox`), { code: "ERR_SANDBOX_UNAVAILABLE" });
}

/**
 * A module, class or function of which every property exists and throws once it is called or constructed. Bundles
 * refer to much that never runs (`require("net").Socket`), and must load nevertheless.
 * @param known properties that do exist
 */
export function standIn(what: string, known: object = {}): object {
  const own = new Map<PropertyKey, unknown>(Reflect.ownKeys(known).map((key) => [key, Reflect.get(known, key)]));
  // Not an arrow function: what extends it needs it to be a constructor.
  const target = function standIn(): never {
    throw unavailable(what);
  };
  return new Proxy(target, {
    get(_, key) {
      if (own.has(key)) return own.get(key);
      if (key === "prototype") return target.prototype;
      // Neither a promise nor a compiled ES module; symbols are asked for by what prints or iterates.
      if (key === "then" || key === "__esModule" || typeof key === "symbol") return undefined;
      if (key === "name") return what;
      if (key === "length") return 0;
      if (key === "call" || key === "apply" || key === "bind" || key === "toString") {
        const method: unknown = Reflect.get(Function.prototype, key);
        return typeof method === "function" ? method.bind(target) : undefined;
      }
      const found = standIn(`${what}.${key}`);
      own.set(key, found);
      return found;
    },
    set(_, key, value) {
      own.set(key, value);
      return true;
    },
    has: () => true,
    apply() {
      throw unavailable(what);
    },
    construct() {
      throw unavailable(what);
    },
  });
}
