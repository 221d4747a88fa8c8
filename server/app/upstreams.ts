/** The services behind connections: accounts there, sessions with them, and what they offer. */
import { createCatalogue } from "../connections/catalogue.ts";
import { createSessions } from "../connections/sessions.ts";
import type { ServedConnection } from "../connections/types.ts";
import { openAccounts } from "../signin/open-accounts.ts";
import { readerOf } from "../signin/reader.ts";
import type { Configuration } from "./configuration.ts";
import type { Foundation } from "./foundation.ts";

export type Upstreams = ReturnType<typeof openUpstreams>;

export function openUpstreams(foundation: Foundation, configuration: Configuration) {
  const { keyring, store, shared, egress, hop, identity, publicUrl, allowsLoopback, log, clock } = foundation;
  const { env, credentials, pieces, registry, jackfield } = configuration;
  const desk = openAccounts({
    ...{ store, keyring, shared, credentials, jackfield, env, egress, publicUrl, allowsLoopback, hop, log, clock },
    pieceSignIn: (id) => pieces.offers.oauth(id),
  });
  const sessions = createSessions({
    ...{ store, log, clock, identity, hop, env, credentials },
    fetch: egress.upstreamFetch,
    named: egress.namedBy,
    fetchStream: egress.upstreamStream,
    credentialFor: desk.credentialFor,
    pieces: pieces.host,
  });
  const catalogue = createCatalogue({
    ...{ store, bus: shared.bus, locks: shared.locks, registry, sessions, log, clock },
    readerOf: readerOf(desk.accounts),
  });
  return {
    ...{ desk, accounts: desk.accounts, sessions, catalogue },
    /** Reads what a connection offers, once somebody signed in there. */
    connected(connection: ServedConnection): void {
      catalogue
        .refresh(connection)
        .catch((error: unknown) =>
          log.error({ reason: String(error) }, "the catalogue of a connection could not be stored"),
        );
    },
  };
}
