/** With whose account a connection is looked at when nobody in particular asks: its catalogue, its health. */
import type { ServedConnection } from "../connections/types.ts";
import type { Accounts } from "./accounts.ts";

export interface Reader {
  /** Of the session to use; undefined: that of the deployment. */
  readonly principalKey: string | undefined;
}

/**
 * Tells with whom a connection can be read: with the deployment, or where each user signs in, with the account that
 * was connected last. Undefined where nobody has signed in.
 */
export function readerOf(accounts: Pick<Accounts, "any">) {
  return async (connection: Pick<ServedConnection, "id" | "auth" | "subject">): Promise<Reader | undefined> => {
    if (connection.auth.method !== "oauth") return { principalKey: undefined };
    const account = await accounts.any(connection.id);
    if (!account) return undefined;
    return { principalKey: connection.subject === "user" ? account.principalKey : undefined };
  };
}
