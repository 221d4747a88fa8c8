/** The globals of Node that an isolate lacks. */
import { Event, EventTarget } from "event-target-shim";
import { Blob } from "fetch-blob";
import { File } from "fetch-blob/file.js";
import { FormData } from "formdata-polyfill/esm.min.js";
import { AbortController, AbortSignal } from "./abort.ts";
import { bufferModule } from "./buffer.ts";
import { console } from "./console.ts";
import { TextDecoder, TextEncoder } from "./encoding.ts";
import { fetch, Request, Response } from "./fetch.ts";
import { Headers } from "./headers.ts";
import { MessageChannel, MessagePort } from "./message-channel.ts";
import { addToBuffer } from "./modules.ts";
import { util } from "./node-util.ts";
import { performance } from "./performance.ts";
import { webStreams } from "./stream.ts";
import { timers } from "./timers.ts";
import { unavailable } from "./unavailable.ts";
import { CryptoKey, webcrypto } from "./webcrypto.ts";

class CustomEvent extends Event {
  readonly detail: unknown;

  constructor(type: string, init?: { detail?: unknown }) {
    super(type);
    this.detail = init?.detail ?? null;
  }
}

class WebSocket {
  constructor() {
    throw unavailable("WebSocket");
  }
}

const { promises: _, ...timerFunctions } = timers;
const { atob, btoa } = bufferModule;

const globals = {
  ...webStreams,
  ...timerFunctions,
  AbortController,
  AbortSignal,
  atob,
  Blob,
  btoa,
  console,
  crypto: webcrypto,
  CryptoKey,
  CustomEvent,
  Event,
  EventTarget,
  fetch,
  File,
  FormData,
  Headers,
  MessageChannel,
  MessagePort,
  navigator: { userAgent: "node" },
  performance,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  WebSocket,
};
for (const [name, value] of Object.entries(globals)) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}
Object.assign(util, { TextDecoder, TextEncoder });
addToBuffer({ Blob, File });
