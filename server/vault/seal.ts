/** AES-256-GCM with everything that is needed to open it again but the key: `v1.<keyId>.<base64url(iv|tag|text)>`. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Keyring } from "./keyring.ts";

const VERSION = "v1";
const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
/** Given explicitly, because without it Node accepts a tag cut down to four bytes. */
const TAG_BYTES = 16;
const LABEL = "seal";

/** What was sealed cannot be opened: another key, other associated data, or changed on the way. */
export class SealError extends Error {
  override readonly name = "SealError";
}

/**
 * Seals a text with the first master key.
 * @param aad what it belongs to (organization, row, purpose): it opens under exactly the same only
 */
export function seal(keyring: Keyring, plaintext: string, aad: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, keyring.deriveKey(LABEL), iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(aad, "utf8"));
  const text = Buffer.concat([cipher.update(plaintext, "utf8"), cipher.final()]);
  return `${VERSION}.${keyring.keyId}.${Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64url")}`;
}

/** Id of the master key that a text was sealed with; undefined where it is no sealed text. */
export function keyIdOf(sealed: string): string | undefined {
  const [version, keyId] = sealed.split(".", 2);
  return version === VERSION ? keyId : undefined;
}

/** The text that `seal` was given. Throws `SealError`. */
export function open(keyring: Keyring, sealed: string, aad: string): string {
  const [version, keyId, body, ...rest] = sealed.split(".");
  if (version !== VERSION || body === undefined || rest.length > 0) throw new SealError("This is not a sealed text.");
  const key = keyId === undefined ? undefined : keyring.keyOf(keyId, LABEL);
  if (key === undefined) throw new SealError(`The text was sealed with another master key (${keyId}).`);
  const bytes = Buffer.from(body, "base64url");
  if (bytes.length < IV_BYTES + TAG_BYTES) throw new SealError("The sealed text is cut off.");
  const iv = bytes.subarray(0, IV_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(aad, "utf8"));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
    return text.toString("utf8");
  } catch (cause) {
    throw new SealError("The sealed text was changed or belongs to something else.", { cause });
  }
}
