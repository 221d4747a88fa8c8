import type { Actor } from "../people/permissions.ts";
import type { TokenActor } from "../people/token-desk.ts";
import type { ApiCaller } from "./caller.ts";

/** The caller as functions of `people/` judge who changes something, and as the audit names them. */
export function actorOf({ kind, issuer, subject, name, organizationId, permissions }: ApiCaller): Actor {
  return {
    kind,
    issuer,
    subject,
    name,
    may: (organization, permission) => organization === organizationId && permissions.has(permission),
  };
}

/** The same, for what is done with tokens. */
export function tokenActorOf(caller: ApiCaller): TokenActor {
  const { organizationId, endpointIds } = caller;
  return { actor: actorOf(caller), organizationId, ...(endpointIds === undefined ? {} : { endpointIds }) };
}
