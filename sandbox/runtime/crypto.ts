/** `node:crypto`: what pieces use of it, done by the worker's Node. */
import { Buffer, bytesFrom } from "./buffer.ts";
import { createCipheriv, createDecipheriv } from "./crypto-cipher.ts";
import { createHash, createHmac, createSign, createVerify, Hash, hash, sign, verify } from "./crypto-hash.ts";
import { type Bytes, compute, fillRandomly, randomBytesOf, tell } from "./crypto-host.ts";
import { createPrivateKey, createPublicKey, createSecretKey, KeyObject, keyMaterial } from "./crypto-keys.ts";
import { standIn } from "./unavailable.ts";
import { subtle, webcrypto } from "./webcrypto.ts";

type Done<T> = (error: Error | null, value?: T) => void;

/** The callback form of work that is done at once. */
function later<T>(work: () => T, done: Done<T>): void {
  let value: T;
  try {
    value = work();
  } catch (error) {
    queueMicrotask(() => done(error instanceof Error ? error : new Error(String(error))));
    return;
  }
  queueMicrotask(() => done(null, value));
}

function randomBytes(size: number, done?: Done<Buffer>): Buffer | undefined {
  if (!Number.isSafeInteger(size) || size < 0 || size > 2 ** 24) throw new RangeError("size is out of range");
  if (done === undefined) return randomBytesOf(size);
  later(() => randomBytesOf(size), done);
  return undefined;
}

/** An integer from `least` to below `most`, each as likely as the others. */
function randomInt(least: number, most?: number | Done<number>): number {
  const [from, to] = typeof most === "number" ? [least, most] : [0, least];
  const range = to - from;
  if (!(range > 0 && range <= 2 ** 48)) throw new RangeError("the range of randomInt is empty or too large");
  const bound = 2 ** 48 - (2 ** 48 % range);
  for (;;) {
    const drawn = randomBytesOf(6).readUIntBE(0, 6);
    if (drawn < bound) return from + (drawn % range);
  }
}

function timingSafeEqual(left: unknown, right: unknown): boolean {
  const [a, b] = [bytesFrom(left), bytesFrom(right)];
  if (a.length !== b.length) throw new RangeError("Input buffers must have the same byte length");
  return a.reduce((difference, byte, index) => difference | (byte ^ (b[index] ?? 0)), 0) === 0;
}

function pbkdf2Sync(password: unknown, salt: unknown, iterations: number, length: number, digest: string): Buffer {
  return Buffer.from(compute("pbkdf2", { iterations, length, digest }, bytesFrom(password), bytesFrom(salt)));
}

function hkdfSync(digest: string, key: unknown, salt: unknown, info: unknown, length: number): ArrayBufferLike {
  const secret: Bytes = key instanceof KeyObject ? key.material.bytes : bytesFrom(key);
  return compute("hkdf", { digest, length }, secret, bytesFrom(salt), bytesFrom(info)).buffer;
}

/** RSA with a public or private key. */
const rsa = (operation: string) => (key: unknown, data: unknown) => {
  const { bytes, options } = keyMaterial(key);
  return Buffer.from(compute(operation, { ...options }, bytes, bytesFrom(data)));
};

const known = {
  createHash,
  createHmac,
  createSign,
  createVerify,
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  KeyObject,
  Hash,
  Hmac: Hash,
  hash,
  sign,
  verify,
  randomBytes,
  pseudoRandomBytes: randomBytes,
  randomInt,
  randomUUID: () => tell("uuid", {}),
  randomFillSync: fillRandomly,
  randomFill: (view: ArrayBufferView, done: Done<ArrayBufferView>) => later(() => fillRandomly(view), done),
  getRandomValues: fillRandomly,
  timingSafeEqual,
  pbkdf2Sync,
  pbkdf2: (p: unknown, s: unknown, iterations: number, length: number, digest: string, done: Done<Buffer>) =>
    later(() => pbkdf2Sync(p, s, iterations, length, digest), done),
  hkdfSync,
  hkdf: (d: string, k: unknown, s: unknown, i: unknown, length: number, done: Done<ArrayBufferLike>) =>
    later(() => hkdfSync(d, k, s, i, length), done),
  publicEncrypt: rsa("public-encrypt"),
  privateDecrypt: rsa("private-decrypt"),
  getHashes: () => ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "RSA-SHA256", "RSA-SHA512"],
  getCiphers: () => ["aes-128-cbc", "aes-256-cbc", "aes-128-gcm", "aes-256-gcm", "aes-256-ctr"],
  getCurves: () => ["prime256v1", "secp384r1"],
  getFips: () => 0,
  webcrypto,
  subtle,
  constants: {
    RSA_PKCS1_PADDING: 1,
    RSA_NO_PADDING: 3,
    RSA_PKCS1_OAEP_PADDING: 4,
    RSA_PKCS1_PSS_PADDING: 6,
    RSA_PSS_SALTLEN_DIGEST: -1,
    RSA_PSS_SALTLEN_MAX_SIGN: -2,
    RSA_PSS_SALTLEN_AUTO: -2,
  },
};

/** A plain object first, so that it can be spread and enumerated; what is missing is said when it is used. */
export const crypto = {
  ...known,
  ...Object.fromEntries(
    [
      ...["scrypt", "scryptSync", "generateKeyPair", "generateKeyPairSync", "generateKeySync", "privateEncrypt"],
      ...["publicDecrypt", "createDiffieHellman", "createECDH", "diffieHellman", "X509Certificate", "argon2Sync"],
    ].map((name) => [name, standIn(`crypto.${name}`)]),
  ),
};
