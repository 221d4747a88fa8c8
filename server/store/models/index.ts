/** Every table of the store. */
import type { Sequelize } from "sequelize";
import { defineAccounts } from "./accounts.ts";
import { defineActivations } from "./activations.ts";
import { defineAgentTokens } from "./agent-tokens.ts";
import { defineAgents } from "./agents.ts";
import { defineApprovals } from "./approvals.ts";
import { defineAssets } from "./assets.ts";
import { defineAuditCheckpoints } from "./audit-checkpoints.ts";
import { defineAuditEvents } from "./audit-events.ts";
import { defineAuditKeys } from "./audit-keys.ts";
import { defineCatalogueItems } from "./catalogue-items.ts";
import { defineChanges } from "./changes.ts";
import { defineConfigurationEdits } from "./configuration-edits.ts";
import { defineConnectionStates } from "./connection-states.ts";
import { defineConnectionVersions } from "./connection-versions.ts";
import { defineConnections } from "./connections.ts";
import { defineCredentials } from "./credentials.ts";
import { defineEndpointVersions } from "./endpoint-versions.ts";
import { defineEndpoints } from "./endpoints.ts";
import { defineEnvironmentVersions } from "./environment-versions.ts";
import { defineEnvironments } from "./environments.ts";
import { defineExternalSignIns } from "./external-sign-ins.ts";
import { defineIdentities } from "./identities.ts";
import { defineMcpSessions } from "./mcp-sessions.ts";
import { defineMemberGroups } from "./member-groups.ts";
import { defineMembers } from "./members.ts";
import { defineOAuthArtifacts } from "./oauth-artifacts.ts";
import { defineOAuthClients } from "./oauth-clients.ts";
import { defineOAuthConsents } from "./oauth-consents.ts";
import { defineOAuthGrants } from "./oauth-grants.ts";
import { defineOAuthRegistrations } from "./oauth-registrations.ts";
import { defineOneTimeLinks } from "./one-time-links.ts";
import { defineOrganizations } from "./organizations.ts";
import { definePairingPackets } from "./pairing-packets.ts";
import { definePeople } from "./people.ts";
import { defineSecrets } from "./secrets.ts";
import { defineSettings } from "./settings.ts";
import { defineSignInAttempts } from "./sign-in-attempts.ts";
import { defineTools } from "./tools.ts";
import { defineUpstreamTasks } from "./upstream-tasks.ts";
import { defineWebSessions } from "./web-sessions.ts";

export type Models = ReturnType<typeof defineModels>;

/** Defines all models on one Sequelize instance. */
export function defineModels(sequelize: Sequelize) {
  return {
    organizations: defineOrganizations(sequelize),
    environments: defineEnvironments(sequelize),
    environmentVersions: defineEnvironmentVersions(sequelize),
    configurationEdits: defineConfigurationEdits(sequelize),
    connections: defineConnections(sequelize),
    connectionVersions: defineConnectionVersions(sequelize),
    connectionStates: defineConnectionStates(sequelize),
    endpoints: defineEndpoints(sequelize),
    endpointVersions: defineEndpointVersions(sequelize),
    tools: defineTools(sequelize),
    catalogueItems: defineCatalogueItems(sequelize),
    agents: defineAgents(sequelize),
    agentTokens: defineAgentTokens(sequelize),
    mcpSessions: defineMcpSessions(sequelize),
    activations: defineActivations(sequelize),
    assets: defineAssets(sequelize),
    approvals: defineApprovals(sequelize),
    auditEvents: defineAuditEvents(sequelize),
    auditCheckpoints: defineAuditCheckpoints(sequelize),
    auditKeys: defineAuditKeys(sequelize),
    changes: defineChanges(sequelize),
    accounts: defineAccounts(sequelize),
    pairingPackets: definePairingPackets(sequelize),
    settings: defineSettings(sequelize),
    secrets: defineSecrets(sequelize),
    credentials: defineCredentials(sequelize),
    oauthRegistrations: defineOAuthRegistrations(sequelize),
    oauthArtifacts: defineOAuthArtifacts(sequelize),
    oauthClients: defineOAuthClients(sequelize),
    oauthConsents: defineOAuthConsents(sequelize),
    oauthGrants: defineOAuthGrants(sequelize),
    signInAttempts: defineSignInAttempts(sequelize),
    people: definePeople(sequelize),
    members: defineMembers(sequelize),
    upstreamTasks: defineUpstreamTasks(sequelize),
    memberGroups: defineMemberGroups(sequelize),
    identities: defineIdentities(sequelize),
    externalSignIns: defineExternalSignIns(sequelize),
    webSessions: defineWebSessions(sequelize),
    oneTimeLinks: defineOneTimeLinks(sequelize),
  };
}
