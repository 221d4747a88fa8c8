/**
 * Globals that packages use while they load; imported before everything else. `self` is not among them: polyfills
 * would take the isolate for a browser.
 */
import "core-js/actual/structured-clone.js";
import "core-js/web/url.js";
import "core-js/web/url-search-params.js";
import "core-js/web/dom-exception.js";
import "core-js/web/queue-microtask.js";
import { AbortController, AbortSignal } from "./abort.ts";
import { Buffer } from "./buffer.ts";
import { process } from "./process.ts";

Object.assign(globalThis, { global: globalThis, process, Buffer, AbortController, AbortSignal });
