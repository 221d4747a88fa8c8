/** `oauthApps` of `jackfield.yml`: clients that the operator registered at a provider by hand. */
import { z } from "zod";

/** Name of the variable in `${env:NAME}`. */
export const variable = z
  .string()
  .regex(/^\$\{env:[A-Za-z_][A-Za-z0-9_]*\}$/, "must name an environment variable, as $" + "{env:NAME}")
  .transform((reference) => reference.slice("${env:".length, -1));

/** An https URL in which `{name}` stands for a value of the connection. */
const template = z.string().refine((value) => {
  const filled = value.replace(/\{[A-Za-z][A-Za-z0-9_]*\}/g, "x");
  if (/[{}]/.test(filled) || !URL.canParse(filled)) return false;
  const url = new URL(filled);
  const bare = url.username === "" && url.password === "" && url.hash === "";
  return bare && (url.protocol === "https:" || url.protocol === "http:");
}, "must be a URL; {name} may stand for a part of it");

const scopeNames = z.array(z.string().min(1).max(500)).max(200);

/** Scopes as a list, or apart by what they allow. */
export const scopeList = z.union([
  scopeNames,
  z.strictObject({ read: scopeNames.default([]), write: scopeNames.default([]) }),
]);
export type ScopeList = z.infer<typeof scopeList>;

/** Set by every request itself. */
const OWN_PARAMETERS = new Set([
  "response_type",
  "client_id",
  "client_secret",
  "redirect_uri",
  "state",
  "code_challenge",
  "code_challenge_method",
]);

export const oauthApp = z
  .strictObject({
    label: z.string().min(1).max(200).optional(),
    clientId: variable,
    clientSecret: variable.optional(),
    /** A piece that is offered: endpoints, scopes and the rest are those that its author wrote down. */
    piece: z.string().min(1).max(200).optional(),
    authorizationUrl: template.optional(),
    tokenUrl: template.optional(),
    revocationUrl: template.optional(),
    /** As the provider spells itself in its answers (`iss`), where it does. */
    issuer: template.optional(),
    scopes: scopeList.default([]),
    scopeParameter: z.string().min(1).max(100).default("scope"),
    scopeSeparator: z.enum([" ", ","]).default(" "),
    /** Default: true, or as the piece has it. */
    pkce: z.boolean().optional(),
    /** Default: body, or as the piece has it. */
    authentication: z.enum(["header", "body"]).optional(),
    parameters: z
      .record(
        z
          .string()
          .min(1)
          .refine((name) => !OWN_PARAMETERS.has(name), "is set by each request itself"),
        z.string(),
      )
      .default({}),
    reach: z.strictObject({ note: z.string().min(1).max(2000), link: z.url().optional() }).optional(),
  })
  .superRefine((app, context) => {
    for (const key of ["authorizationUrl", "tokenUrl"] as const) {
      if (app[key] !== undefined || app.piece !== undefined) continue;
      context.addIssue({ code: "custom", path: [key], message: "is needed, or piece: whose author wrote it down" });
    }
  });

export const oauthApps = z.record(
  z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, "must be an id: lower-case letters, digits and -"),
  oauthApp,
);

export type OAuthAppFile = z.infer<typeof oauthApp>;

/** The scopes to ask for: where a connection only reads, only those that reading needs. */
export function scopesFor(scopes: ScopeList, preset: "read-only" | "approval-required" | undefined): string[] {
  if (Array.isArray(scopes)) return scopes;
  return preset === "read-only" ? scopes.read : [...new Set([...scopes.read, ...scopes.write])];
}
