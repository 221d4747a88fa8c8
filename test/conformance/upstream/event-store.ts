/** Events of a session in memory, so that a client that lost its stream can resume (MCP 2025-11-25, "Resumability"). */

import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

interface StoredEvent {
  readonly id: string;
  readonly streamId: string;
  readonly message: JSONRPCMessage;
}

/** A store for one session; it lives and dies with it. */
export function createEventStore(): EventStore {
  const events: StoredEvent[] = [];
  return {
    async storeEvent(streamId, message) {
      const id = `${streamId}/${events.length}`;
      events.push({ id, streamId, message });
      return id;
    },
    async getStreamIdForEventId(eventId) {
      return events.find((event) => event.id === eventId)?.streamId;
    },
    async replayEventsAfter(lastEventId, { send }) {
      const position = events.findIndex((event) => event.id === lastEventId);
      const streamId = events[position]?.streamId;
      if (streamId === undefined) throw new Error(`No event ${lastEventId} in this session`);
      for (const event of events.slice(position + 1)) {
        // The first event of a stream is an empty one that only carries an id; it is not a message.
        if (event.streamId === streamId && "jsonrpc" in event.message) await send(event.id, event.message);
      }
      return streamId;
    },
  };
}
