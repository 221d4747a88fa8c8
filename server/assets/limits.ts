const MIB = 1024 * 1024;

/** How much is kept, and for how long. */
export interface AssetLimits {
  /** Milliseconds that a file is kept. */
  readonly ttlMs: number;
  /** Bytes of one file. */
  readonly fileBytes: number;
  /** Bytes of all files of a principal, over all environments. */
  readonly principalBytes: number;
  /** Bytes of all files of an organization. */
  readonly organizationBytes: number;
}

export const DEFAULT_LIMITS: AssetLimits = {
  ttlMs: 24 * 3_600_000,
  fileBytes: 64 * MIB,
  principalBytes: 512 * MIB,
  organizationBytes: 8192 * MIB,
};
