/** What the MCP face is made of, and how a handler finds its caller again. */
import type { AuthInfo, ServerContext } from "@modelcontextprotocol/server";
import type { JsonObject, Log } from "../../adapters/contract.ts";
import type { Registry } from "../connections/registry.ts";
import type { Gateway } from "../gateway/call.ts";
import type { GatewayCaller } from "../gateway/caller.ts";
import type { Toolsets } from "../gateway/toolset.ts";
import type { Pairing } from "../signin/pairing.ts";
import type { Activations } from "./activation.ts";
import type { ParkingLot } from "./asking/parking.ts";
import type { StateSeal } from "./asking/state-seal.ts";
import type { Holds } from "./hold.ts";
import type { Notifier } from "./notifier.ts";

export interface Face {
  readonly gateway: Gateway;
  readonly registry: Registry;
  readonly toolsets: Toolsets;
  readonly activations: Activations;
  readonly holds: Holds;
  readonly notifier: Notifier;
  readonly parking: ParkingLot;
  readonly pairing: Pairing;
  readonly stateSeal: StateSeal;
  /** This deployment's own id; all its replicas share it. */
  readonly instanceId: string;
  readonly identity: { readonly name: string; readonly title: string; readonly version: string };
  readonly log: Log;
  readonly clock: () => number;
}

/** The downstream session a server object serves; undefined for a single modern request. */
export interface SessionView {
  readonly id: string;
  /** Whether the client holds the GET stream open. */
  readonly streaming: () => boolean;
  logLevel: string | undefined;
  readonly rememberLogLevel: (level: string) => void;
  readonly rememberSubscription: (uri: string, subscribed: boolean) => void;
}

const callers = new WeakMap<AuthInfo, GatewayCaller>();

/** Wraps a caller in the SDK's pass-through `AuthInfo`; `callerOf` unwraps it in a handler. */
export function authInfoOf(caller: GatewayCaller): AuthInfo {
  const info: AuthInfo = { token: "", clientId: caller.principal.clientKey, scopes: [...caller.principal.scopes] };
  callers.set(info, caller);
  return info;
}

/** The caller of the request a handler serves. @throws Error where a request came past the endpoint (a bug). */
export function callerOf(ctx: ServerContext): GatewayCaller {
  return callerOfInfo(ctx.http?.authInfo);
}

/** The caller behind an `AuthInfo` that `authInfoOf` made. @throws Error for any other */
export function callerOfInfo(info: AuthInfo | undefined): GatewayCaller {
  const caller = info && callers.get(info);
  if (!caller) throw new Error("a request reached a handler without its caller");
  return caller;
}

/** `params` of a request as a plain object. */
export function paramsOf(request: { params?: unknown }): JsonObject {
  return typeof request.params === "object" && request.params !== null ? { ...request.params } : {};
}
