/** What an adapter may keep of a caller beyond a call, and tell an upstream about it. */
import type { CallContext } from "../../adapters/contract.ts";
import type { ServedConnection } from "../connections/types.ts";
import type { CallerAssertions } from "../people/caller-assertions.ts";
import type { GatewayCaller } from "./caller.ts";
import type { TaskDesks } from "./task-desk.ts";

export interface DurableParts {
  readonly tasks: TaskDesks;
  readonly assertions: CallerAssertions;
}

/** The part of a call's context that is bound to connection and principal. */
export function durable(
  { tasks, assertions }: DurableParts,
  connection: ServedConnection,
  { principal, endpoint }: Pick<GatewayCaller, "principal" | "endpoint">,
): Pick<CallContext, "tasks" | "assertion"> {
  const desk = { tasks: tasks.of(connection, principal) };
  if (connection.config["assertion"] !== "on") return desk;
  return {
    ...desk,
    assertion: async (audience) => assertions.sign(principal, endpoint.organizationSlug, audience),
  };
}
