/** How results and errors speak of kept files, whichever adapter made them. */
import type { KeptAsset } from "./contract.ts";
import { member } from "./network.ts";

/** Bytes of an image or a sound that a model is shown inside a result. */
export const MAX_SHOWN = 256 * 1024;

/** How a model is told of a kept file, and what it can do with it. */
export function keptFileWords({ name, type, size, digest, handle, expiresAt }: KeptAsset): string {
  return (
    `File ${JSON.stringify(name)}, ${type}, ${size} bytes, SHA-256 ${digest}, kept until ${new Date(expiresAt).toISOString()} as ${handle}. ` +
    "To send it to another tool, give this handle where a file is wanted."
  );
}

/** An error of the keeper of files; its words are for the caller. */
export function isAssetError(error: unknown): error is Error {
  return error instanceof Error && /^asset_/.test(String(member(error, "code")));
}
