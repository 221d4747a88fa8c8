/** Which questions a person need not answer again: the same client, target and endpoint, and no scope more. */
import type { Store } from "../store/database.ts";
import { clientKeyOf } from "./clients.ts";
import { digestOf } from "./keys.ts";

/** What was or would be asked. */
export interface ConsentQuestion {
  readonly personId: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly endpointId: string;
}

export interface Consents {
  remember(question: ConsentQuestion, scopes: readonly string[]): Promise<void>;
  /** Adds scopes to what is remembered; nothing where nothing is. */
  extend(question: ConsentQuestion, scopes: readonly string[]): Promise<void>;
  /** Whether the person has allowed all of these before. */
  remembers(question: ConsentQuestion, scopes: readonly string[]): Promise<boolean>;
  /** Forgets what a person, or everybody, said about a client. */
  forget(clientId: string, personId?: string): Promise<void>;
}

export function createConsents({ store, clock }: { store: Store; clock: () => number }): Consents {
  const { oauthConsents } = store.models;
  const whereOf = ({ personId, clientId, redirectUri, endpointId }: ConsentQuestion) => ({
    personId,
    consentKey: digestOf("consent", clientId, redirectUri, endpointId),
  });
  return {
    async remember(question, scopes) {
      const where = whereOf(question);
      const row = { scopes: scopes.join(" "), createdAt: new Date(clock()) };
      const [changed] = await oauthConsents.update(row, { where });
      if (changed === 0) {
        const clientKey = clientKeyOf(question.clientId);
        await oauthConsents.findOrCreate({ where, defaults: { ...where, ...row, clientKey } });
      }
    },
    async extend(question, scopes) {
      const where = whereOf(question);
      const row = await oauthConsents.findOne({ where });
      if (row === null) return;
      const all = new Set([...row.scopes.split(" "), ...scopes]);
      await oauthConsents.update({ scopes: [...all].join(" ") }, { where });
    },
    async remembers(question, scopes) {
      const row = await oauthConsents.findOne({ where: whereOf(question) });
      const allowed = new Set(row?.scopes.split(" "));
      return scopes.length > 0 && scopes.every((scope) => allowed.has(scope));
    },
    async forget(clientId, personId) {
      const clientKey = clientKeyOf(clientId);
      await oauthConsents.destroy({ where: { clientKey, ...(personId === undefined ? {} : { personId }) } });
    },
  };
}
