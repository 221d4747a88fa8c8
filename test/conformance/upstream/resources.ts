/** Resources and their subscriptions; URIs and contents are fixed by the official conformance suite. */

import type { McpServer } from "@modelcontextprotocol/server";
import { ResourceTemplate } from "@modelcontextprotocol/server";
import { PIXEL_PNG } from "./samples.ts";

const TEXT_URI = "test://static-text";
const BINARY_URI = "test://static-binary";
const WATCHED_URI = "test://watched-resource";

/** Registers the static resources, the template and the resource that can be subscribed to. */
export function registerResources(server: McpServer): void {
  server.registerResource(
    "static-text",
    TEXT_URI,
    { title: "Static text", description: "A text that never changes", mimeType: "text/plain" },
    () => ({
      contents: [{ uri: TEXT_URI, mimeType: "text/plain", text: "This is the content of the static text resource." }],
    }),
  );

  server.registerResource(
    "static-binary",
    BINARY_URI,
    { title: "Static image", description: "An image that never changes", mimeType: "image/png" },
    () => ({ contents: [{ uri: BINARY_URI, mimeType: "image/png", blob: PIXEL_PNG }] }),
  );

  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { title: "Template", description: "A resource with a parameter", mimeType: "application/json" },
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    }),
  );

  server.registerResource(
    "watched-resource",
    WATCHED_URI,
    { title: "Watched", description: "A resource to subscribe to", mimeType: "text/plain" },
    () => ({ contents: [{ uri: WATCHED_URI, mimeType: "text/plain", text: "Watched resource content" }] }),
  );

  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
}
