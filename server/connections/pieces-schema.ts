/** `activepieces` of `jackfield.yml`: the pieces that the operator offers. */
import { z } from "zod";
import { isIntegrity, isVersion, packageOf, readSpec, shortName } from "../pieces/names.ts";

const id = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "must be an id: lower-case letters, digits, -, _ and .");
const words = z.array(z.string().min(1).max(200)).min(1).max(1000);

const full = z.strictObject({
  piece: z.string().refine((name) => packageOf(name) !== undefined, "must be a piece such as slack or @acme/piece-crm"),
  version: z.string().refine(isVersion, "must be one exact version such as 0.17.9"),
  integrity: z.string().refine(isIntegrity, "must be the integrity that npm shows: sha512-...").optional(),
  /** Under which connections name it; a further one makes another collection of the same piece. */
  id: id.optional(),
  label: z.string().min(1).max(200).optional(),
  /** Only these exist. */
  actions: words.optional(),
  audience: z
    .array(z.enum(["ai", "both", "human"]))
    .min(1)
    .optional(),
  /** What a sign-in may ask for at most. */
  scopes: z.array(z.string().min(1).max(500)).max(200).optional(),
  /** Whether a piece without authentication is there without a connection. */
  connect: z.boolean().default(true),
});

const short = z
  .string()
  .refine((spec) => readSpec(spec) !== undefined, "must be name@version with one exact version, as slack@0.17.9")
  .transform((spec) => {
    const { name, version } = readSpec(spec) ?? { name: "", version: "" };
    return { piece: name, version, connect: true };
  });

/** One offer, with every default filled in. */
export interface PieceOffer {
  /** The npm package. */
  name: string;
  version: string;
  id: string;
  integrity?: string | undefined;
  label?: string | undefined;
  actions?: string[] | undefined;
  audience?: ("ai" | "both" | "human")[] | undefined;
  scopes?: string[] | undefined;
  connect: boolean;
}

const offer = z.union([short, full]).transform(({ piece, ...given }): PieceOffer => {
  const name = packageOf(piece) ?? "";
  return { ...given, name, id: ("id" in given ? given.id : undefined) ?? shortName(name) };
});

export const activepieces = z
  .strictObject({
    /** How old a version must be before it is installed. */
    minimumReleaseAge: z
      .string()
      .regex(/^[1-9]\d{0,4}[hdw]$/, "must be a number of hours, days or weeks such as 3d")
      .optional(),
    pieces: z.array(offer).max(2000).optional(),
  })
  .superRefine(({ pieces = [] }, context) => {
    const seen = new Set<string>();
    for (const [index, { id, version }] of pieces.entries()) {
      const key = `${id}@${version}`;
      const message = `${key} is offered twice; give one of them another id`;
      if (seen.has(key)) context.addIssue({ code: "custom", path: ["pieces", index], message });
      seen.add(key);
    }
  });

export type Activepieces = z.output<typeof activepieces>;

const UNITS = { h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Milliseconds of `minimumReleaseAge`. */
export function releaseAgeMs({ minimumReleaseAge }: Pick<Activepieces, "minimumReleaseAge">): number {
  if (minimumReleaseAge === undefined) return 0;
  const unit = minimumReleaseAge.at(-1);
  return Number(minimumReleaseAge.slice(0, -1)) * (unit === "h" ? UNITS.h : unit === "w" ? UNITS.w : UNITS.d);
}
