/** What the handlers of the API work with. A group of routes that needs something more adds it here and in `app.ts`. */
import type { Authoring } from "../connections/authoring.ts";
import type { checkConnection } from "../connections/check.ts";
import type { Registry } from "../connections/registry.ts";
import type { StoredCredentials } from "../connections/stored-credentials.ts";
import type { Decisions } from "../gateway/approvals/decisions.ts";
import type { Gateway } from "../gateway/call.ts";
import type { Toolsets } from "../gateway/toolset.ts";
import type { ConnectedClients } from "../oauth/connected-clients.ts";
import type { Invitations } from "../people/invitations.ts";
import type { Members } from "../people/members.ts";
import type { TokenDesk } from "../people/token-desk.ts";
import type { Accounts } from "../signin/accounts.ts";
import type { SignInFlow } from "../signin/index.ts";
import type { ApiServerParts } from "./serve.ts";

export interface ApiParts extends ApiServerParts {
  readonly registry: Registry;
  readonly tokenDesk: TokenDesk;
  readonly members: Members;
  readonly invitations: Invitations;
  readonly connectedClients: ConnectedClients;
  readonly authoring: Authoring;
  readonly credentials: StoredCredentials;
  readonly accounts: Pick<Accounts, "find">;
  /** What testing a connection needs. */
  readonly checking: Parameters<typeof checkConnection>[0];
  /** Ends an account; false where there was none. */
  readonly disconnect: SignInFlow["disconnect"];
  /** Origin under which people reach the server. */
  readonly publicOrigin: () => string;
  readonly decisions: Decisions;
  readonly gateway: Gateway;
  readonly toolsets: Toolsets;
}
