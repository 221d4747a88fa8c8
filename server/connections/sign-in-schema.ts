/** `signIn` of `jackfield.yml`: other servers through which people sign in to this one. */
import { z } from "zod";
import { variable } from "./oauth-app-schema.ts";

const text = z.string().min(1).max(500);

/** A value, or `${env:NAME}`: a client's id is no secret, but it often stands beside one. */
const valueOrVariable = text.refine(
  (value) => !value.includes("${") || /^\$\{env:[A-Za-z_][A-Za-z0-9_]*\}$/.test(value),
  "must be a value, or name one environment variable, as $" + "{env:NAME}",
);

/** Plain http is for servers on this machine or in networks that the operator allows; egress decides. */
const serverUrl = z.string().refine((value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const bare = url !== undefined && url.username === "" && url.password === "" && url.hash === "" && url.search === "";
  return bare && (url.protocol === "https:" || url.protocol === "http:");
}, "must be an http or https URL without credentials, query and fragment");

const domain = z
  .string()
  .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/, "must be a domain in lower case");

/** What becomes of somebody who signs in there and is not known here. */
const admit = z
  .union([z.enum(["invited", "everyone"]), z.strictObject({ domains: z.array(domain).min(1).max(200) })])
  .default("invited");

const common = {
  id: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, "must be an id: lower-case letters, digits and -")
    .refine((value) => value !== "password", "is how signing in without a provider is called"),
  label: z.string().min(1).max(60).optional(),
  admit,
  role: z.enum(["admin", "member"]).default("member"),
  /** Slug of the organization that admitted people and mapped groups belong to; absent: the first one. */
  organization: text.optional(),
  /** `map`: only the groups named there, under the names given there. */
  groups: z.strictObject({ claim: text, map: z.record(text, z.string().min(1).max(128)).optional() }).optional(),
  /** Variables that the claims become: `${{principal.<name>}}`. */
  claims: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, "is not a variable name")
        .refine((name) => !["id", "username", "email"].includes(name), "is set by itself"),
      text,
    )
    .default({}),
};

const client = { clientId: valueOrVariable, clientSecret: variable };

const oidc = z.strictObject({
  type: z.literal("oidc"),
  ...common,
  ...client,
  issuer: serverUrl,
  clientSecret: variable.optional(),
  scopes: z.array(text).max(50).default(["openid", "profile", "email"]),
  /** Whether its mail addresses are verified even where it does not say so. */
  trustEmail: z.boolean().default(false),
});

const google = z.strictObject({ type: z.literal("google"), ...common, ...client });

const github = z
  .strictObject({
    type: z.literal("github"),
    ...common,
    ...client,
    url: serverUrl.default("https://github.com"),
    /** Of the REST interface; absent: api.github.com, or below `url` for a server of one's own. */
    apiUrl: serverUrl.optional(),
  })
  .superRefine((value, context) => {
    const claim = value.groups?.claim;
    if (claim === undefined || claim === "teams" || claim === "organizations") return;
    context.addIssue({ code: "custom", path: ["groups", "claim"], message: "must be teams or organizations" });
  });

const saml = z.strictObject({
  type: z.literal("saml"),
  ...common,
  /** Entity id of the identity provider, as it stands in its assertions. */
  issuer: text,
  entryPoint: serverUrl.or(z.url({ protocol: /^https?$/ })),
  /** Certificates in PEM, or paths of files that hold them; several while one is replaced. */
  certificate: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(10)]),
  /** Our own entity id; absent: the address of our metadata. */
  entityId: text.optional(),
  nameIdFormat: text.default("urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"),
  attributes: z
    .strictObject({ email: text.optional(), name: text.optional(), login: text.optional() })
    .default({ email: "email", name: "name" }),
  trustEmail: z.boolean().default(false),
  /** Key in PEM with which requests are signed. */
  signingKey: variable.optional(),
});

export const signInProviders = z
  .array(z.discriminatedUnion("type", [oidc, google, github, saml]))
  .max(20)
  .superRefine((providers, context) => {
    providers.forEach(({ id }, index) => {
      if (providers.findIndex((other) => other.id === id) === index) return;
      context.addIssue({ code: "custom", path: [index, "id"], message: `${id} is declared twice` });
    });
  });

export type SignInProviderFile = z.infer<typeof signInProviders>[number];
export type ProviderFileOf<Type extends SignInProviderFile["type"]> = Extract<SignInProviderFile, { type: Type }>;
