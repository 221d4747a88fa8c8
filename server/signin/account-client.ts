/** Which client an account's tokens were issued to, for asking its authorization server about them. */
import type { OAuthApps } from "./oauth-apps.ts";
import { TokenError } from "./token-request.ts";
import type { Account, ClientAuthentication, RegistrationDesk } from "./types.ts";

export interface AccountClients {
  /**
   * The client, its secret opened. Undefined for tokens that need none (a pairing provider's).
   * @throws TokenError `invalid_client` where our registration is gone, `refused` where the OAuth app is unusable
   */
  of(account: Account): Promise<ClientAuthentication | undefined>;
  /** The authorization server does not know the client. True where that is final: it has to be registered anew. */
  unknown(account: Account): Promise<boolean>;
}

export function createAccountClients(parts: {
  readonly registrations: RegistrationDesk;
  readonly apps: Pick<OAuthApps, "client">;
}): AccountClients {
  const { registrations, apps } = parts;
  return {
    async of(account) {
      if (account.oauthApp !== null) return appClient(apps, account.oauthApp);
      if (account.registrationId === null) return undefined;
      const registration = await registrations.find(account.registrationId);
      if (!registration) throw new TokenError("invalid_client", "our registration is gone");
      const secret = await registrations.secret(registration);
      const { clientId, tokenEndpointAuthMethod: method } = registration;
      return { clientId, method, ...(secret === undefined ? {} : { secret }) };
    },
    async unknown(account) {
      if (account.registrationId === null) return false;
      const registration = await registrations.find(account.registrationId);
      // What an operator wrote down he can put right again; until then nobody's sign-in is thrown away.
      if (registration?.kind === "static") return false;
      await registrations.drop(account.registrationId);
      return true;
    },
  };
}

function appClient(apps: Pick<OAuthApps, "client">, id: string): ClientAuthentication {
  try {
    return apps.client(id);
  } catch (cause) {
    throw new TokenError("refused", cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
