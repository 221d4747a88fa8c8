/** Passwords: which are good enough, how they are kept, how they are checked. */
import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { JackfieldError } from "../errors.ts";

/** KiB of memory, rounds and lanes of argon2id: the OWASP minimum, about 45 ms of one core. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const SALT_BYTES = 16;
const TAG_BYTES = 32;
/** Hashes at once: a flood of sign-ins must leave cores and memory to the calls of clients. */
const AT_ONCE = 3;
/** Hashes that wait; more are refused, because their senders will have gone before their turn. */
const MAX_WAITING = 100;

const MIN_CHARACTERS = 12;
const MAX_BYTES = 256;

type Derive = (algorithm: "argon2id", parameters: Argon2Parameters) => Promise<Buffer>;

export interface Passwords {
  /** The PHC string to store. Throws `busy`. */
  hash(password: string): Promise<string>;
  /**
   * Whether a password belongs to a stored PHC string. Without one (nobody has the username) it costs the same and is
   * false. `rehash`: the string was made with other costs than today's. Throws `busy`.
   */
  verify(password: string, stored: string | null | undefined): Promise<{ ok: boolean; rehash: boolean }>;
}

/** @param derive argon2 of Node; tests count its calls */
export function createPasswords(derive: Derive = promisify(argon2)): Passwords {
  const waiting: (() => void)[] = [];
  let running = 0;

  async function enter(): Promise<void> {
    if (running < AT_ONCE) {
      running += 1;
      return;
    }
    if (waiting.length >= MAX_WAITING) throw new JackfieldError("busy");
    // Whoever leaves hands its place over, so that nobody who comes meanwhile takes it.
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  async function tagOf(password: string, { salt, tag, ...cost }: Stored): Promise<Buffer> {
    await enter();
    try {
      const message = Buffer.from(plain(password), "utf8");
      return await derive("argon2id", { message, nonce: salt, tagLength: tag.length, ...cost });
    } finally {
      leave();
    }
  }

  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      const tag = await tagOf(password, { ...COST, salt, tag: Buffer.alloc(TAG_BYTES) });
      return phcOf({ ...COST, salt, tag });
    },
    async verify(password, stored) {
      const parsed = parsePhc(stored ?? "");
      const expected = parsed ?? NOBODY;
      // Longer than any password that was accepted: not worth more work than any other wrong one.
      const tag = await tagOf(Buffer.byteLength(password) > MAX_BYTES ? "" : password, expected);
      const ok = timingSafeEqual(tag, expected.tag) && parsed !== undefined;
      return { ok, rehash: ok && !isCurrent(expected) };
    },
  };
}

/** What is wrong with a new password, as a sentence; undefined where nothing is. */
export function passwordProblem(password: string, about: { username: string; name: string }): string | undefined {
  const text = plain(password);
  if ([...text].length < MIN_CHARACTERS) return `A password has at least ${MIN_CHARACTERS} characters.`;
  if (Buffer.byteLength(password) > MAX_BYTES) return `A password has at most ${MAX_BYTES} bytes.`;
  return isGuessable(text.toLowerCase(), about) ? "This password is easy to guess. Choose another." : undefined;
}

/** Words that many passwords are made of, as lists of leaked ones show; doubled, numbered or decorated they stay bad. */
const COMMON = [
  ...["password", "passwort", "passw0rd", "p@ssword", "p@ssw0rd", "admin", "administrator", "welcome", "letmein"],
  ...["qwerty", "qwertyuiop", "qwertz", "qwertzuiop", "azerty", "azertyuiop", "asdfgh", "asdfghjkl", "zxcvbn"],
  ...["zxcvbnm", "1q2w3e4r", "1q2w3e4r5t", "1q2w3e4r5t6y", "q1w2e3r4", "q1w2e3r4t5", "1qaz2wsx", "1qaz2wsx3edc"],
  ...["zaq12wsx", "qazwsx", "qazwsxedc", "iloveyou", "monkey", "dragon", "sunshine", "princess", "football"],
  ...["baseball", "superman", "batman", "trustno1", "starwars", "pokemon", "whatever", "computer", "internet"],
  ...["samsung", "google", "facebook", "michael", "jennifer", "charlie", "changeme", "default", "secret", "summer"],
  ...["winter", "spring", "autumn", "hello", "login", "master", "shadow", "freedom", "access", "killer", "test"],
  ...["correcthorsebatterystaple", "jackfield", "root", "user", "guest", "love", "baby", "angel", "hunter", "qwer"],
  ...["abcdef", "abcdefgh", "abcdefghijkl", "alphabet", "mustang", "cheese", "matrix", "pass", "word", "asdf", "zxcv"],
];

function isGuessable(text: string, { username, name }: { username: string; name: string }): boolean {
  if (new Set(text).size < 5) return true;
  if (isRun(text)) return true;
  const own = [username, ...username.split(/[@._+-]/), ...name.toLowerCase().split(/\s+/)];
  const words = [...COMMON, ...own.filter((word) => word.length > 3)].sort((a, b) => b.length - a.length);
  const left = words.reduce((rest, word) => rest.replaceAll(word, " "), text);
  // What is left beside such words, digits and decoration is what had to be guessed.
  return left !== text && left.replaceAll(/[\d\s\p{P}\p{S}]/gu, "").length < 4;
}

/** Neighbours only, such as `abcdefghijkl`, `987654321098` and `aaaabbbbcccc`. */
function isRun(text: string): boolean {
  const codes = [...text].map((character) => character.codePointAt(0) ?? 0);
  const steps = codes.slice(1).filter((code, index) => Math.abs(code - (codes[index] ?? 0)) <= 1);
  return steps.length >= codes.length - 2;
}

/** One form for what different keyboards send for the same characters (NIST SP 800-63B section 5.1.1.2). */
function plain(password: string): string {
  return password.normalize("NFKC");
}

interface Stored {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** What is checked where nobody has the username: the same work, and no answer. */
const NOBODY: Stored = { ...COST, salt: randomBytes(SALT_BYTES), tag: randomBytes(TAG_BYTES) };

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** The PHC string format, without padding. */
function phcOf({ memory, passes, parallelism, salt, tag }: Stored): string {
  const base64 = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`;
}

function parsePhc(text: string): Stored | undefined {
  const [, memory, passes, parallelism, salt = "", tag = ""] = PHC.exec(text) ?? [];
  if (memory === undefined) return undefined;
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, "base64"),
    tag: Buffer.from(tag, "base64"),
  };
}

function isCurrent({ memory, passes, parallelism }: Stored): boolean {
  return memory === COST.memory && passes === COST.passes && parallelism === COST.parallelism;
}
