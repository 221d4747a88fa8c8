/** `assets` of `jackfield.yml`: where files are kept, how long, and how much of them. */
import { z } from "zod";
import { type AssetLimits, DEFAULT_LIMITS } from "../assets/limits.ts";
import type { StorageChoice } from "../assets/open.ts";

const MIB = 1024 * 1024;
/** What an integer column of MySQL holds. */
const MOST_MIB = 2047;

const mib = (most: number, otherwise: number) =>
  z
    .number()
    .int()
    .min(1)
    .max(most)
    .default(otherwise / MIB);
const endpoint = z.string().refine((value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "";
}, "must be an http or https URL");

const limits = {
  hours: z
    .number()
    .int()
    .min(1)
    .max(24 * 365)
    .default(24),
  fileMiB: mib(MOST_MIB, DEFAULT_LIMITS.fileBytes),
  principalMiB: mib(1024 * 1024, DEFAULT_LIMITS.principalBytes),
  organizationMiB: mib(1024 * 1024 * 1024, DEFAULT_LIMITS.organizationBytes),
};

export const assets = z.discriminatedUnion("store", [
  z.strictObject({ store: z.literal("directory"), ...limits }),
  z.strictObject({
    store: z.literal("s3"),
    bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be the name of a bucket"),
    region: z
      .string()
      .regex(/^[a-z0-9-]+$/, "must be a region such as eu-central-1")
      .optional(),
    prefix: z
      .string()
      .regex(/^(?:[A-Za-z0-9_.-]+\/)*$/, "must be empty or folders that end with /")
      .default("jackfield/"),
    endpoint: endpoint.optional(),
    ...limits,
  }),
]);

export type AssetsFile = z.infer<typeof assets>;

export function assetLimits({ hours, fileMiB, principalMiB, organizationMiB }: AssetsFile): AssetLimits {
  return {
    ttlMs: hours * 3_600_000,
    fileBytes: fileMiB * MIB,
    principalBytes: principalMiB * MIB,
    organizationBytes: organizationMiB * MIB,
  };
}

export function storageChoice(file: AssetsFile): StorageChoice {
  if (file.store === "directory") return { store: "directory" };
  const { store, bucket, region, prefix, endpoint } = file;
  return { store, bucket, region, prefix, endpoint };
}
