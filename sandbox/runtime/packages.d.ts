/** Types of the packages that carry none: each stands in for the module of Node of that name, with its types. */
declare module "buffer/" {
  export * from "node:buffer";
}
declare module "event-target-shim" {
  export class Event {
    constructor(type: string);
    readonly type: string;
  }
  export class EventTarget {
    addEventListener(type: string, listener: (event: Event) => void, options?: { once?: boolean }): void;
    removeEventListener(type: string, listener: (event: Event) => void): void;
    dispatchEvent(event: Event): boolean;
  }
}
declare module "formdata-polyfill/esm.min.js" {
  export const FormData: typeof globalThis.FormData;
  export function formDataToBlob(form: FormData, blob: typeof import("fetch-blob").Blob): Blob;
}
declare module "util/" {
  import util from "node:util";
  export default util;
}
declare module "assert/" {
  import assert from "node:assert";
  export default assert;
}
declare module "url/" {
  import url from "node:url";
  export default url;
}
declare module "events/" {
  import events from "node:events";
  export default events;
}
declare module "string_decoder/" {
  export { StringDecoder } from "node:string_decoder";
}
declare module "punycode/" {
  const punycode: object;
  export default punycode;
}
declare module "readable-stream" {
  import stream from "node:stream";
  export default stream;
}
declare module "browserify-zlib" {
  import zlib from "node:zlib";
  export default zlib;
}
declare module "querystring-es3" {
  import querystring from "node:querystring";
  export default querystring;
}
declare module "path-browserify" {
  import path from "node:path";
  export default path;
}
declare module "core-js/actual/structured-clone.js";
declare module "core-js/web/dom-exception.js";
declare module "core-js/web/queue-microtask.js";
declare module "core-js/web/url-search-params.js";
declare module "core-js/web/url.js";
