/** The MCP face in both eras, and what it keeps of its callers. */
import { randomBytes } from "node:crypto";
import type { Toolsets } from "../gateway/toolset.ts";
import { createActivations } from "../mcp/activation.ts";
import { createParkingLot } from "../mcp/asking/parking.ts";
import { createStateSeal } from "../mcp/asking/state-seal.ts";
import { relayChanges } from "../mcp/changes.ts";
import type { Face } from "../mcp/face.ts";
import { createHolds } from "../mcp/hold.ts";
import { createLegacyFace } from "../mcp/legacy/serve.ts";
import { createModernFace } from "../mcp/modern/serve.ts";
import { createNotifier } from "../mcp/notifier.ts";
import { createTraffic } from "../mcp/traffic.ts";
import { personKey } from "../people/people.ts";
import { createPackets } from "../signin/packets.ts";
import { createPairing } from "../signin/pairing.ts";
import type { Calls } from "./calls.ts";
import type { Configuration } from "./configuration.ts";
import type { Foundation } from "./foundation.ts";
import type { AppOptions } from "./options.ts";
import type { Upstreams } from "./upstreams.ts";

const PARKED_MS = 5 * 60_000;

export function openMcp(
  foundation: Foundation,
  { env, registry }: Configuration,
  upstreams: Upstreams,
  { gateway, mayConnect }: Calls,
  toolsets: Toolsets,
  options: Pick<AppOptions, "parkedMs">,
) {
  const { keyring, store, shared, instanceId, egress, hop, identity, log, clock } = foundation;
  const { accounts, sessions, connected } = upstreams;
  const face: Face = {
    ...{ gateway, registry, toolsets, identity, instanceId, log, clock },
    activations: createActivations({ store, bus: shared.bus, clock, origin: randomBytes(8).toString("hex") }),
    holds: createHolds(),
    notifier: createNotifier(),
    parking: createParkingLot(options.parkedMs ?? PARKED_MS),
    pairing: createPairing({
      ...{ accounts, sessions, mayConnect, connected, env, identity, hop, log },
      packets: createPackets({ store, keyring, clock }),
      fetchFor: egress.namedBy,
    }),
    stateSeal: createStateSeal(keyring, clock),
  };
  const traffic = createTraffic();
  const legacy = createLegacyFace(face, store);
  const modern = createModernFace(face);
  const changes = relayChanges(face, legacy, shared.bus);
  const stopCutting = shared.bus.subscribe("tokens", ({ id, personId }) => {
    if (typeof id === "string") traffic.cut(id);
    if (typeof personId === "string") traffic.cut(personKey(personId));
  });
  return {
    ...{ face, traffic, legacy, modern },
    /** Ends the reading of what others changed. */
    stopFollowing(): void {
      changes.close();
      stopCutting();
    },
    /** Ends streams and questions. They end before the listener, which would wait for them for ever. */
    async close(): Promise<void> {
      face.parking.close();
      await modern.close();
      await legacy.close();
    },
  };
}
