import type { AssetOwner } from "../assets/assets.ts";
import type { ServedEndpoint, ServedEnvironment } from "../connections/types.ts";
import type { Principal } from "../people/principal.ts";
import type { Toolset } from "./toolset.ts";

/** Who calls, through which endpoint, and what that caller may see. Made once per request. */
export interface GatewayCaller {
  readonly principal: Principal;
  readonly endpoint: ServedEndpoint;
  readonly environment: ServedEnvironment;
  readonly toolset: Toolset;
  /** Owner of activations at this endpoint: the principal with this grant or token. */
  readonly holderKey: string;
  readonly era: "modern" | "legacy";
  /** Trace id of the request, where the client sent one. */
  readonly traceId?: string;
}

/** Through which door a call came; the rules are the same behind each. */
export type Door = "by_name" | "tool_read" | "tool_write" | "resource" | "prompt" | "completion" | "try";

/** Whose files a call makes and reads: those of its principal in the environment of its endpoint. */
export function assetOwner({ principal, endpoint }: Pick<GatewayCaller, "principal" | "endpoint">): AssetOwner {
  const { organizationId, key: principalKey } = principal;
  return { organizationId, environmentId: endpoint.environmentId, principalKey };
}
