/** The global `Headers` (Fetch standard). */

export type HeadersInit = Headers | Iterable<readonly [string, string]> | Readonly<Record<string, string | undefined>>;

function keyOf(name: unknown): string {
  const text = String(name);
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text)) throw new TypeError(`Invalid header name: ${text.slice(0, 100)}`);
  return text.toLowerCase();
}

function isIterable(given: object): given is Iterable<readonly [string, string]> {
  return Symbol.iterator in given;
}

export class Headers {
  readonly #values = new Map<string, string[]>();

  constructor(init?: HeadersInit | null) {
    if (init === undefined || init === null) return;
    if (isIterable(init)) for (const [name, value] of init) this.append(name, value);
    else for (const [name, value] of Object.entries(init)) if (value !== undefined) this.append(name, value);
  }

  append(name: string, value: unknown): void {
    const key = keyOf(name);
    const before = this.#values.get(key);
    const text = String(value).trim();
    if (before) before.push(text);
    else this.#values.set(key, [text]);
  }

  set(name: string, value: unknown): void {
    this.#values.set(keyOf(name), [String(value).trim()]);
  }

  get(name: string): string | null {
    return this.#values.get(keyOf(name))?.join(", ") ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(keyOf(name));
  }

  delete(name: string): void {
    this.#values.delete(keyOf(name));
  }

  getSetCookie(): string[] {
    return [...(this.#values.get("set-cookie") ?? [])];
  }

  *entries(): IterableIterator<[string, string]> {
    for (const key of [...this.#values.keys()].sort()) {
      const values = this.#values.get(key) ?? [];
      if (key === "set-cookie") for (const value of values) yield [key, value];
      else yield [key, values.join(", ")];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  forEach(callback: (value: string, name: string, headers: Headers) => void, self?: unknown): void {
    for (const [name, value] of this.entries()) Reflect.apply(callback, self, [value, name, this]);
  }

  /** node-fetch has it, and some clients use it on whatever fetch they find. */
  raw(): Record<string, string[]> {
    return Object.fromEntries([...this.#values].map(([name, values]) => [name, [...values]]));
  }

  toJSON(): Record<string, string> {
    return Object.fromEntries(this.entries());
  }

  get [Symbol.toStringTag](): string {
    return "Headers";
  }
}
