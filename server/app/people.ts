/** How people come in: our pages, signing in to services from them, and the authorization server for MCP clients. */
import { createSignInPages } from "../admin/connection-sign-in.ts";
import { createSite } from "../admin/site.ts";
import type { Toolsets } from "../gateway/toolset.ts";
import { originsFor } from "../mcp/origins.ts";
import { createAuthorizationServer } from "../oauth/authorization-server.ts";
import { settingsOf } from "../oauth/settings.ts";
import type { OtherAccess } from "../people/members.ts";
import { endAccountsOf } from "../signin/departure.ts";
import { createSignInFlow } from "../signin/index.ts";
import type { Configuration } from "./configuration.ts";
import type { Foundation } from "./foundation.ts";
import type { AppOptions } from "./options.ts";
import type { Upstreams } from "./upstreams.ts";

export type PeopleParts = ReturnType<typeof openPeopleParts>;

/** @param fetchDocument what fetches the metadata documents of clients, where it is not egress */
export function openPeopleParts(
  foundation: Foundation,
  configuration: Configuration,
  upstreams: Upstreams,
  toolsets: Toolsets,
  fetchDocument: AppOptions["fetchDocument"],
) {
  const { config, keyring, store, shared, tokens, audit, egress, hop, publicUrl, allowsLoopback, log, clock } =
    foundation;
  const { env, registry, jackfield } = configuration;
  const { desk, accounts } = upstreams;
  const origins = originsFor(config.host, config.publicUrl);
  const otherAccess: OtherAccess = {
    endGrants: (organizationId, personId) => oauth.grants.endAll({ organizationId, personId }, "person_removed"),
    endTokens: (organizationId, personId) => tokens.revokeOwn(organizationId, personId),
    endAccounts: (organizationId, personId) =>
      endAccountsOf({ store, registry, accounts, clients: desk.clients, egress, clock, log }, organizationId, personId),
    changed: (personId) => oauth.personChanged(personId),
  };
  const site = createSite({
    ...{ store, keyring, limiter: shared.limiter, audit, origins, otherAccess, jackfield, env, egress, log, clock },
    publicUrl: config.publicUrl,
    publicOrigin: publicUrl,
  });
  const signInFlow = createSignInFlow({
    ...{ store, keyring, egress, desk, publicUrl, allowsLoopback, hop, registry, log, clock },
    verify: async (token, ip) =>
      (await tokens.verify(token, ip === undefined ? {} : { ip })) ?? oauth.tokens.personOf(token),
    pages: createSignInPages(site.pages, site.cookies),
    onConnected: upstreams.connected,
  });
  const oauth = createAuthorizationServer({
    ...{ store, keyring, shared, registry, audit, log, clock, toolsets },
    pages: site.pages,
    settings: settingsOf(jackfield().oauth, env),
    origin: publicUrl,
    fetch: fetchDocument ?? egress.strangerFetch,
  });
  return { origins, site, signInFlow, oauth };
}
