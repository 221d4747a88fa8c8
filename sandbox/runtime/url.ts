/** `node:url`: the old functions of the package beside the global `URL`. */
import url from "url/";
import { unavailable } from "./unavailable.ts";

export const urlModule = {
  ...url,
  URL,
  URLSearchParams,
  fileURLToPath(given: unknown): string {
    const parsed = new URL(String(given));
    if (parsed.protocol !== "file:") throw unavailable("url.fileURLToPath of anything but a file");
    return decodeURIComponent(parsed.pathname);
  },
  pathToFileURL: (path: string) => new URL(`file://${path}`),
  domainToASCII: (domain: string) => new URL(`http://${domain}`).hostname,
  domainToUnicode: (domain: string) => domain,
  urlToHttpOptions: (given: URL) => ({
    protocol: given.protocol,
    hostname: given.hostname,
    port: given.port,
    path: given.pathname + given.search,
    hash: given.hash,
    search: given.search,
    pathname: given.pathname,
    href: given.href,
  }),
};
