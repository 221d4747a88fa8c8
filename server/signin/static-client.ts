/** The OAuth client that an operator was given by a service by hand, as the connection's stored credential holds it. */
import { credentialName } from "../connections/credentials.ts";
import type { StoredCredentials } from "../connections/stored-credentials.ts";
import type { RegistrationsOptions } from "./registration.ts";

/** Looks a connection's client up: the fields `client_id` and, where it has one, `client_secret`. */
export function staticClients(credentials: Pick<StoredCredentials, "find">): RegistrationsOptions["staticClient"] {
  return async (connection) => {
    const reference = credentialName(connection);
    const stored = await credentials.find(connection.organizationId, reference, { fresh: true });
    const clientId = stored?.kind === "client" ? stored.value("client_id") : undefined;
    if (clientId === undefined) return undefined;
    const clientSecret = stored?.value("client_secret");
    return { reference, clientId, ...(clientSecret === undefined ? {} : { clientSecret }) };
  };
}
