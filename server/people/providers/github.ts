/**
 * Signing in through GitHub, or a GitHub server of one's own: OAuth without OpenID Connect, so that who it is has to be
 * asked of its REST interface. The numeric id is the subject: logins are given to others once they are free.
 */
import * as client from "openid-client";
import { z } from "zod";
import type { ProviderFileOf } from "../../connections/sign-in-schema.ts";
import { beginCodeFlow, type CodeFlow, finishCodeFlow } from "./code-flow.ts";
import { domainOf, type ExternalIdentity, mappedGroups } from "./identity.ts";
import { type SignInProvider, SignInRefused } from "./provider.ts";

const PAGE = 100;
/** Pages of groups that are asked for: nobody is in more than a few hundred. */
const MOST_PAGES = 5;

const user = z.object({ id: z.number().int().positive(), login: z.string().min(1), name: z.string().nullish() });
const emails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }));
const organizations = z.array(z.object({ login: z.string() }));
const teams = z.array(z.object({ slug: z.string(), organization: z.object({ login: z.string() }) }));

export interface GitHubOptions {
  readonly file: ProviderFileOf<"github">;
  readonly callbackUrl: string;
  /** The client, as it is configured now. Throws `missing_variable`. */
  readonly client: () => { readonly id: string; readonly secret: string };
  readonly fetch: () => Promise<typeof globalThis.fetch>;
}

export function createGitHubProvider({ file, callbackUrl, fetch, ...options }: GitHubOptions): SignInProvider {
  const server = file.url.replace(/\/+$/, "");
  const hosted = new URL(server).host === "github.com";
  const api = (file.apiUrl ?? (hosted ? "https://api.github.com" : `${server}/api/v3`)).replace(/\/+$/, "");

  async function flow(): Promise<CodeFlow> {
    const { id, secret } = options.client();
    const guarded = await fetch();
    const metadata = {
      issuer: `${server}/login/oauth`,
      authorization_endpoint: `${server}/login/oauth/authorize`,
      token_endpoint: `${server}/login/oauth/access_token`,
      code_challenge_methods_supported: ["S256"],
    };
    const config = new client.Configuration(metadata, id, secret, client.ClientSecretPost(secret));
    config[client.customFetch] = (url, { body, ...init }) => guarded(url, { ...init, ...(body ? { body } : {}) });
    if (server.startsWith("http:")) client.allowInsecureRequests(config);
    return {
      config,
      callbackUrl,
      openid: false,
      scopes: ["read:user", "user:email", ...(file.groups === undefined ? [] : ["read:org"])],
      parameters: { prompt: "select_account" },
      identify: ({ access_token: token }) => identify(guarded, token),
    };
  }

  async function identify(guarded: typeof globalThis.fetch, token: string): Promise<ExternalIdentity> {
    const ask = async <Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>> => {
      const response = await guarded(`${api}${path}`, {
        headers: {
          accept: "application/vnd.github+json",
          authorization: `Bearer ${token}`,
          "user-agent": "jackfield",
          "x-github-api-version": "2022-11-28",
        },
        redirect: "error",
      });
      const body: unknown = response.ok ? await response.json() : undefined;
      const read = schema.safeParse(body);
      if (!read.success) throw new SignInRefused(`GitHub answered ${path} with ${response.status} or in another form`);
      return read.data;
    };
    const { id, login, name } = await ask("/user", user);
    const addresses = (await ask("/user/emails", emails)).filter(({ verified }) => verified);
    const email = (addresses.find(({ primary }) => primary) ?? addresses[0])?.email;
    return {
      issuer: server,
      subject: String(id),
      label: login,
      name: name ?? undefined,
      login,
      email,
      domains: [...new Set(addresses.flatMap((address) => domainOf(address.email) ?? []))],
      groups: mappedGroups(await groupsOf(ask), file.groups?.map),
      claims: { id, login, name },
    };
  }

  async function groupsOf(
    ask: <Schema extends z.ZodType>(path: string, schema: Schema) => Promise<z.output<Schema>>,
  ): Promise<string[]> {
    const claim = file.groups?.claim;
    const names: string[] = [];
    for (let page = 1; claim !== undefined && page <= MOST_PAGES; page += 1) {
      const query = `?per_page=${PAGE}&page=${page}`;
      const found =
        claim === "teams"
          ? (await ask(`/user/teams${query}`, teams)).map(({ slug, organization }) => `${organization.login}/${slug}`)
          : (await ask(`/user/orgs${query}`, organizations)).map(({ login }) => login);
      names.push(...found);
      if (found.length < PAGE) break;
    }
    return names;
  }

  return {
    file,
    label: file.label ?? "GitHub",
    begin: async (state) => beginCodeFlow(await flow(), state),
    finish: async (answer, session) => finishCodeFlow(await flow(), answer, session),
  };
}
