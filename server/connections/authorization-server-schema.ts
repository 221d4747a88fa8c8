/** `oauth` of `jackfield.yml`: our own authorization server, through which people sign their clients in. */
import { z } from "zod";
import { variable } from "./oauth-app-schema.ts";

/** A host name, or `*.` before one for every host below it. */
const hostPattern = z
  .string()
  .regex(
    /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/,
    "must be a host such as claude.ai or *.example.com",
  );

export const authorizationServer = z
  .strictObject({
    registration: z.enum(["open", "token", "off"]).default("open"),
    /** The initial access token that registering needs (RFC 7591 section 3). */
    registrationToken: variable.optional(),
    redirects: z.enum(["open", "known-hosts", "loopback-only"]).default("open"),
    clientDocuments: z.enum(["auto", "on", "off"]).default("auto"),
    /** Hosts whose documents are read; absent: every host. */
    clientDocumentHosts: z.array(hostPattern).min(1).max(200).optional(),
    accessTokenMinutes: z.number().int().min(5).max(1440).default(60),
    refreshGraceSeconds: z.number().int().min(0).max(600).default(120),
  })
  .refine(({ registration, registrationToken }) => (registration === "token") === (registrationToken !== undefined), {
    path: ["registrationToken"],
    message: "belongs to registration: token, and is needed there",
  });

/** Tokens that people make in the pages and over the API. */
export const tokenRules = z.strictObject({
  longestDays: z
    .union([z.number().int().min(1).max(3_650), z.literal("never")])
    .default(366)
    .transform((days) => (days === "never" ? Number.POSITIVE_INFINITY : days)),
});
