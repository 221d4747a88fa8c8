/** Every column of the database that holds sealed texts: what `vault rotate` seals again. */

import { approvalAad } from "../gateway/approvals/record.ts";
import { upstreamTaskAad } from "../gateway/task-desk.ts";
import { clientAad } from "../oauth/clients.ts";
import { artifactAad } from "../oauth/storage.ts";
import { auditKeyAad } from "../observe/audit-keys.ts";
import { externalSignInAad } from "../people/external-attempts.ts";
import { accountAad } from "../signin/accounts.ts";
import { attemptAad } from "../signin/attempts.ts";
import { registrationAad } from "../signin/registration.ts";
import { TICKET_AAD } from "../signin/ticket.ts";
import type { AccountRow } from "../store/models/accounts.ts";
import type { ApprovalRow } from "../store/models/approvals.ts";
import type { AuditKeyRow } from "../store/models/audit-keys.ts";
import type { ExternalSignInRow } from "../store/models/external-sign-ins.ts";
import type { OAuthArtifactRow } from "../store/models/oauth-artifacts.ts";
import type { OAuthClientRow } from "../store/models/oauth-clients.ts";
import type { OAuthRegistrationRow } from "../store/models/oauth-registrations.ts";
import type { SignInAttemptRow } from "../store/models/sign-in-attempts.ts";
import type { UpstreamTaskRow } from "../store/models/upstream-tasks.ts";
import { type SealedColumn, sealedColumn } from "../vault/reseal.ts";
import { SECRETS_COLUMN } from "../vault/sql.ts";

/** A new sealed column is described here, by the function that says what its rows are sealed to. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  SECRETS_COLUMN,
  sealedColumn<AuditKeyRow>((models) => models.auditKeys, "sealedKey", auditKeyAad),
  sealedColumn<ApprovalRow>((models) => models.approvals, "sealedArguments", approvalAad),
  sealedColumn<AccountRow>((models) => models.accounts, "sealedTokens", accountAad),
  sealedColumn<OAuthRegistrationRow>((models) => models.oauthRegistrations, "sealedSecret", registrationAad),
  sealedColumn<OAuthClientRow>((models) => models.oauthClients, "sealedSecret", clientAad),
  sealedColumn<OAuthArtifactRow>((models) => models.oauthArtifacts, "sealedPayload", artifactAad),
  sealedColumn<SignInAttemptRow>((models) => models.signInAttempts, "sealedFlow", attemptAad),
  sealedColumn<ExternalSignInRow>((models) => models.externalSignIns, "sealedSession", externalSignInAad),
  sealedColumn<ExternalSignInRow>((models) => models.externalSignIns, "sealedResponse", externalSignInAad),
  sealedColumn<UpstreamTaskRow>((models) => models.upstreamTasks, "sealedState", upstreamTaskAad),
  sealedColumn<SignInAttemptRow>(
    (models) => models.signInAttempts,
    "sealedTicket",
    () => TICKET_AAD,
  ),
];
