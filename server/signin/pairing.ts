/**
 * Pairing: a one-time packet becomes an account, on the host. The packet is claimed first, its claim goes to the
 * connection's configured origin only, and what comes back is sealed; local policy decides over the connection's tools
 * as before, whatever scope was granted.
 */
import type { AdapterSession, Health, Log, PairedTokens, Redemption } from "../../adapters/contract.ts";
import { adapterFor } from "../../adapters/index.ts";
import { failureOf } from "../connections/catalogue.ts";
import { missingOf } from "../connections/credentials.ts";
import type { ConnectionSessions } from "../connections/sessions.ts";
import type { ServedConnection } from "../connections/types.ts";
import { JackfieldError } from "../errors.ts";
import type { Principal } from "../people/principal.ts";
import { resourceOf, urlOf } from "./binding.ts";
import type { PacketClaim, Packets } from "./packets.ts";
import { pairingFetch } from "./pairing-fetch.ts";
import { DEPLOYMENT_KEY, type NewAccount } from "./types.ts";

/** Where a provider that pairs takes refresh tokens (docs/pairing.md), on the origin of its service. */
const TOKEN_PATH = "/.well-known/pairing/token";

/** Why a connection cannot be paired, whoever asks. */
export interface Obstacle {
  readonly kind: "unsupported" | "adapter" | "missing_variable";
  /** For the caller. */
  readonly text: string;
}

/** How pairing ended. `reason` holds no part of the packet. */
export type PairingOutcome =
  | { kind: "paired"; scope: string | undefined; health: Health }
  | { kind: "used" }
  | { kind: "wrong" | "unsent" | "refused" | "unknown"; reason: string };

export interface Pairing {
  /** Undefined where the connection can be paired. */
  obstacle(connection: ServedConnection): Obstacle | undefined;
  /** Whether this principal may pair the connection (design section 7, Accounts). */
  allowed(connection: ServedConnection, principal: Principal): Promise<boolean>;
  /** Redeems a packet for the account that the principal uses, and tests it. */
  redeem(connection: ServedConnection, principal: Principal, packet: string): Promise<PairingOutcome>;
  /** Stands for a packet in the audit. */
  digest(packet: string): string;
}

export interface PairingOptions {
  readonly accounts: { save(account: NewAccount): Promise<unknown> };
  readonly packets: Packets;
  readonly sessions: Pick<ConnectionSessions, "use">;
  /** The guarded way to what this connection's address leads to. */
  readonly fetchFor: (url: URL) => Promise<typeof globalThis.fetch>;
  /** Whether a principal has `connections:write`. */
  readonly mayConnect: (principal: Principal) => Promise<boolean>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly identity: { readonly name: string; readonly version: string };
  readonly hop: { readonly header: string; readonly value: string };
  readonly log: Log;
  /** Called once an account is there, e.g. to read the connection's catalogue with it. */
  readonly connected: (connection: ServedConnection) => void;
}

/** Makes the part that pairs. */
export function createPairing(options: PairingOptions): Pairing {
  const { accounts, packets, fetchFor, mayConnect, env, identity, hop } = options;

  return {
    obstacle(connection) {
      const { label, type, auth } = connection;
      if (auth.pairing !== true) {
        return { kind: "unsupported", text: `${label} (${type}) does not support pairing.` };
      }
      if (!canRedeem(connection)) {
        return {
          kind: "adapter",
          text: `${label}: connections of type ${type} cannot redeem packets in this version.`,
        };
      }
      const missing = missingOf(connection, env);
      return missing === undefined ? undefined : { kind: "missing_variable", text: `${label}: Missing ${missing}.` };
    },
    async allowed(connection, principal) {
      return connection.subject === "user" || (await mayConnect(principal));
    },
    digest: (packet) => packets.digest(packet),
    async redeem(connection, principal, packet) {
      // The claim goes to the origin of this address and nowhere else.
      const url = urlOf(connection);
      const redeem = adapterFor(connection.type)?.redeemPairingCode;
      if (url === undefined || redeem === undefined) throw new JackfieldError("pairing_unavailable");
      const own = connection.subject === "user";
      let claim: PacketClaim | undefined;
      const use = {
        organizationId: connection.organizationId,
        connectionId: connection.id,
        principalKey: principal.key,
      };
      const settle = async (ending: Redemption["kind"]) => {
        if (ending === "wrong" || ending === "unsent" || ending === "used") await claim?.release();
        else await claim?.settle(ending === "tokens" ? "redeemed" : ending);
      };
      let redemption: Redemption;
      try {
        redemption = await redeem(packet, {
          connection: { id: connection.id, slug: connection.slug },
          config: connection.config,
          async claim(secret) {
            claim = await packets.claim(secret, use);
            return claim !== undefined;
          },
          fetch: pairingFetch({
            fetch: await fetchFor(url),
            origin: url.origin,
            claimed: () => claim !== undefined,
          }),
          identity,
          hop,
        });
        if (redemption.kind === "tokens") {
          await accounts.save(newAccount(connection, principal, url, redemption.tokens));
        }
      } catch (error) {
        await settle("unknown");
        throw error;
      }
      await settle(redemption.kind);
      if (redemption.kind !== "tokens") return redemption;
      options.connected(connection);
      const health = await checked(options, connection, own ? principal.key : undefined);
      return { kind: "paired", scope: redemption.tokens.scope, health };
    },
  };
}

/** Whether the adapter of a connection can redeem packets at all. */
export function canRedeem(connection: Pick<ServedConnection, "type" | "config">): boolean {
  return adapterFor(connection.type)?.redeemPairingCode !== undefined && urlOf(connection) !== undefined;
}

function newAccount(connection: ServedConnection, principal: Principal, url: URL, tokens: PairedTokens): NewAccount {
  const own = connection.subject === "user";
  const { accessToken, refreshToken, expiresIn, scope } = tokens;
  return {
    organizationId: connection.organizationId,
    connectionId: connection.id,
    principal: own
      ? { key: principal.key, issuer: principal.issuer, subject: principal.subject }
      : { key: DEPLOYMENT_KEY, issuer: "", subject: "" },
    authorizationServer: url.origin,
    ...(refreshToken === undefined ? {} : { tokenEndpoint: new URL(TOKEN_PATH, url.origin).href }),
    boundResource: resourceOf(url),
    scopesAsked: scope?.split(" ") ?? [],
    tokens: {
      accessToken,
      ...(refreshToken === undefined ? {} : { refreshToken }),
      ...(expiresIn === undefined ? {} : { expiresIn }),
      ...(scope === undefined ? {} : { scope }),
    },
    ...(own ? {} : { connectedBy: `${principal.issuer} ${principal.subject}`.slice(0, 255) }),
  };
}

/** The account is kept whatever this says: it was given, and the packet cannot be redeemed twice. */
async function checked(
  { sessions, log }: Pick<PairingOptions, "sessions" | "log">,
  connection: ServedConnection,
  principalKey: string | undefined,
): Promise<Health> {
  try {
    return await sessions.use(connection, principalKey, (session: AdapterSession) => session.check());
  } catch (error) {
    const failure = failureOf(error);
    if (failure !== undefined) return { state: "unhealthy", message: failure.message };
    log.error({ connection: connection.slug, error }, "a paired connection could not be tested");
    return { state: "unhealthy", message: "It could not be tested." };
  }
}
