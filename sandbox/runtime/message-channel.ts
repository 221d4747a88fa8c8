/** The global `MessageChannel`: libraries use it to run something a little later. */
import { setImmediate } from "./timers.ts";

export class MessagePort {
  onmessage: ((event: { data: unknown }) => void) | null = null;
  other: MessagePort | undefined;

  postMessage(data: unknown): void {
    setImmediate(() => this.other?.onmessage?.({ data }));
  }

  close(): void {
    this.other = undefined;
  }

  start(): void {}

  ref(): void {}

  unref(): void {}
}

export class MessageChannel {
  readonly port1 = new MessagePort();
  readonly port2 = new MessagePort();

  constructor() {
    this.port1.other = this.port2;
    this.port2.other = this.port1;
  }
}
