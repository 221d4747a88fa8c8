/** Where the content of kept files is. One suite, `test/contract/asset-storage.ts`, runs against each. */

/** Errors are `asset_unavailable` where the storage does not answer, and the source's own where that fails. */
export interface AssetStorage {
  /**
   * Keeps the content under a key that was never used, whole or not at all.
   * @param key segments of letters, digits and `-`, separated by `/`
   */
  write(key: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** The content; undefined where there is none under this key. */
  read(key: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Removes the content; one that is not there is no error. */
  delete(key: string): Promise<void>;
}
