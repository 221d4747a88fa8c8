/** Tells open streams what changed: what is served, what another process activated, what an upstream announced. */
import type { Change } from "../../adapters/contract.ts";
import type { ServedConnection, ServedEndpoint, ServedEnvironment } from "../connections/types.ts";
import type { Bus } from "../shared-state/contract.ts";
import { DEPLOYMENT_KEY } from "../signin/types.ts";
import type { Face } from "./face.ts";
import type { LegacyFace } from "./legacy/serve.ts";
import { listenerOf } from "./modern/subscriptions.ts";
import type { ListKind } from "./notifier.ts";

/** Several connections often change at once, at a start or a refresh; streams hear of it once. */
const GATHER_MS = 100;

/** Starts relaying; `close` ends it. */
export function relayChanges(face: Face, legacy: LegacyFace, bus: Bus): { close(): void } {
  const { notifier, registry } = face;
  const gathered = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  /** Whoever searches next should not pay for the index. */
  const warm = async (environment: ServedEnvironment) => {
    for (const endpoint of environment.endpoints) await face.toolsets.for(environment, endpoint).warm();
  };
  for (const environment of registry.environments()) void warm(environment);

  const tell = () => {
    timer = undefined;
    for (const environmentId of gathered) {
      const environment = registry.environment(environmentId);
      if (environment) void warm(environment);
      const endpoints = [environment, registry.draft(environmentId)].flatMap((seen) => seen?.endpoints ?? []);
      for (const id of new Set(endpoints.map((endpoint) => endpoint.id))) {
        for (const kind of ["tools", "prompts", "resources"] as const) notifier.listChanged(kind, id);
      }
    }
    gathered.clear();
  };
  const stopRegistry = registry.onChange(({ environmentId }) => {
    gathered.add(environmentId);
    timer ??= setTimeout(tell, GATHER_MS);
    timer.unref();
  });
  const stopActivations = face.activations.onRemoteChange((place) => {
    notifier.listChanged("tools", place.endpointId, place.holderKey);
  });
  // An account that came or went decides what its principal can call; lists are a good moment to look again.
  const stopAccounts = bus.subscribe("accounts", ({ connectionId, principalKey }) => {
    if (typeof principalKey !== "string") return;
    if (principalKey !== DEPLOYMENT_KEY) return notifier.principalChanged("tools", principalKey);
    // Everybody uses it.
    for (const environment of registry.environments()) {
      if (!environment.connections.some(({ id }) => id === connectionId)) continue;
      for (const endpoint of environment.endpoints) notifier.listChanged("tools", endpoint.id);
    }
  });
  const stopUpstream = face.gateway.sessions.onChange(({ connection, change }) => relay(connection, change));

  /** At a transparent endpoint the upstream's own announcements pass, also where nothing that is stored changed. */
  function relay(connection: ServedConnection, change: Change): void {
    for (const endpoint of transparentTo(connection)) {
      if (change.kind === "log") sendTo(endpoint, change.callerKey, "notifications/message", change.params);
      else if (change.kind === "resource_updated") updated(endpoint, change);
      else notifier.listChanged(change.kind satisfies ListKind, endpoint.id);
    }
  }

  /** An update that came for one caller reaches that caller only: the others have subscriptions of their own. */
  function updated(endpoint: ServedEndpoint, change: Extract<Change, { kind: "resource_updated" }>): void {
    const { uri, callerKey, params } = change;
    if (callerKey === undefined) {
      notifier.resourceUpdated(uri, { endpointId: endpoint.id }, params);
      sendToSubscribers(endpoint, uri);
      return;
    }
    const listener = listenerOf(callerKey);
    if (listener?.endpointId === endpoint.id) notifier.resourceUpdated(uri, listener, params);
    else sendTo(endpoint, callerKey, "notifications/resources/updated", { ...params, uri });
  }

  function sendTo(endpoint: ServedEndpoint, callerKey: string, method: string, params: object): void {
    for (const session of legacy.sessions()) {
      if (session.place.endpointId === endpoint.id && callerKey === `session:${session.id}`)
        session.send(method, { ...params });
    }
  }

  function sendToSubscribers(endpoint: ServedEndpoint, uri: string): void {
    for (const session of legacy.sessions()) {
      if (session.place.endpointId === endpoint.id && session.row.subscriptions?.includes(uri)) {
        session.send("notifications/resources/updated", { uri });
      }
    }
  }

  function transparentTo(connection: ServedConnection): ServedEndpoint[] {
    return registry
      .environments()
      .filter((environment) => environment.connections.some((served) => served.id === connection.id))
      .flatMap((environment) => environment.endpoints)
      .filter(({ config }) => config.discovery === "transparent" && config.connection === connection.slug);
  }

  return {
    close() {
      clearTimeout(timer);
      stopRegistry();
      stopActivations();
      stopAccounts();
      stopUpstream();
    },
  };
}
