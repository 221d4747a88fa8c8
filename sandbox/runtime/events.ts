/** `node:events`: the package, with what newer versions of Node added. */
import events from "events/";
import type { SignalLike } from "./abort.ts";
import { standIn } from "./unavailable.ts";

const additions = {
  EventEmitter: events,
  on: standIn("events.on"),
  setMaxListeners: () => undefined,
  getEventListeners: () => [],
  getMaxListeners: () => 10,
  errorMonitor: Symbol("events.errorMonitor"),
  captureRejectionSymbol: Symbol.for("nodejs.rejection"),
  addAbortListener(signal: SignalLike, listener: () => void) {
    signal.addEventListener("abort", listener);
    return { [Symbol.dispose ?? Symbol.for("nodejs.dispose")]: () => signal.removeEventListener?.("abort", listener) };
  },
};
for (const [name, value] of Object.entries(additions)) {
  if (!(name in events)) Object.assign(events, { [name]: value });
}

export { events };
export const EventEmitter = events;
