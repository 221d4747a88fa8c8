/** Tools that answer at once. Their names and texts are fixed by the official conformance suite. */

import type { McpServer } from "@modelcontextprotocol/server";
import { fromJsonSchema } from "@modelcontextprotocol/server";
import { z } from "zod";
import { PIXEL_PNG, SILENCE_WAV } from "./samples.ts";

/** What tells every connected client, of both eras, that a list changed. */
export interface ListChanges {
  toolsChanged(): void;
  promptsChanged(): void;
}

const noArguments = z.object({});

/** One text block as a tool result. */
export function text(value: string): { content: [{ type: "text"; text: string }] } {
  return { content: [{ type: "text", text: value }] };
}

/** Registers a tool of every kind of content, and the one that fails. */
export function registerContentTools(server: McpServer): void {
  server.registerTool(
    "test_simple_text",
    { description: "Answers with one text block", inputSchema: noArguments },
    () => text("This is a simple text response for testing."),
  );

  server.registerTool("test_image_content", { description: "Answers with a PNG", inputSchema: noArguments }, () => ({
    content: [{ type: "image", data: PIXEL_PNG, mimeType: "image/png" }],
  }));

  server.registerTool("test_audio_content", { description: "Answers with a WAV", inputSchema: noArguments }, () => ({
    content: [{ type: "audio", data: SILENCE_WAV, mimeType: "audio/wav" }],
  }));

  server.registerTool(
    "test_embedded_resource",
    { description: "Answers with an embedded resource", inputSchema: noArguments },
    () => ({
      content: [
        {
          type: "resource",
          resource: {
            uri: "test://embedded-resource",
            mimeType: "text/plain",
            text: "This is an embedded resource content.",
          },
        },
      ],
    }),
  );

  server.registerTool(
    "test_multiple_content_types",
    { description: "Answers with text, an image and a resource", inputSchema: noArguments },
    () => ({
      content: [
        { type: "text", text: "Multiple content types test:" },
        { type: "image", data: PIXEL_PNG, mimeType: "image/png" },
        {
          type: "resource",
          resource: {
            uri: "test://mixed-content-resource",
            mimeType: "application/json",
            text: JSON.stringify({ test: "data", value: 123 }),
          },
        },
      ],
    }),
  );

  server.registerTool("test_error_handling", { description: "Always fails", inputSchema: noArguments }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
}

/** Registers tools that send something before their answer: progress, log messages, list changes, a broken stream. */
export function registerStreamingTools(server: McpServer, changes: ListChanges): void {
  server.registerTool(
    "test_tool_with_progress",
    { description: "Reports progress 0, 50 and 100 of 100", inputSchema: noArguments },
    async (_args, context) => {
      const progressToken = context.mcpReq._meta?.progressToken;
      // Progress may only go to a caller that sent a token (MCP 2026-07-28, "Progress").
      if (progressToken !== undefined) {
        for (const progress of [0, 50, 100]) {
          await context.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` },
          });
        }
      }
      return text(String(progressToken ?? "no progress token"));
    },
  );

  server.registerTool(
    "test_tool_with_logging",
    { description: "Sends three log messages", inputSchema: noArguments },
    async (_args, context) => {
      for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await context.mcpReq.log("info", line);
      }
      return text("Tool with logging executed successfully");
    },
  );

  server.registerTool(
    "test_logging_tool",
    { description: "Logs only where the request asked for a log level", inputSchema: noArguments },
    async (_args, context) => {
      await context.mcpReq.log("info", "test_logging_tool ran");
      return text("Logged where a level was asked for");
    },
  );

  server.registerTool(
    "test_streaming_elicitation",
    { description: "Answers without any request of its own on the stream", inputSchema: noArguments },
    () => text("No request was sent on this stream"),
  );

  server.registerTool(
    "test_reconnection",
    { description: "Closes its event stream before it answers", inputSchema: noArguments },
    (_args, context) => {
      // The answer goes to the event store; a client gets it when it returns with Last-Event-ID.
      context.http?.closeSSE?.();
      return text("Reconnection test completed successfully.");
    },
  );

  server.registerTool(
    "test_trigger_tool_change",
    { description: "Announces that the list of tools changed", inputSchema: noArguments },
    () => {
      changes.toolsChanged();
      return text("Announced a change of the tools");
    },
  );

  server.registerTool(
    "test_trigger_prompt_change",
    { description: "Announces that the list of prompts changed", inputSchema: noArguments },
    () => {
      changes.promptsChanged();
      return text("Announced a change of the prompts");
    },
  );
}

/** Registers tools whose schemas are written by hand, so that every keyword reaches the client as it stands here. */
export function registerSchemaTools(server: McpServer): void {
  const mirrored = { type: "string", description: "Mirrored into Mcp-Param-Region", "x-mcp-header": "Region" } as const;
  server.registerTool(
    "test_x_mcp_header",
    {
      description: "Has one argument that is mirrored into a header (SEP-2243)",
      inputSchema: fromJsonSchema<{ region?: string; level?: number }>({
        type: "object",
        properties: {
          region: mirrored,
          level: { type: "integer", description: "Not mirrored" },
        },
      }),
    },
    (args) => text(`region=${args.region ?? "none"}`),
  );

  server.registerTool(
    "json_schema_2020_12_tool",
    {
      description: "Its schema uses the keywords of JSON Schema 2020-12 (SEP-1613, SEP-2106)",
      inputSchema: fromJsonSchema({
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
          address: {
            $anchor: "addressDef",
            type: "object",
            properties: { street: { type: "string" }, city: { type: "string" } },
          },
        },
        properties: {
          name: { type: "string" },
          address: { $ref: "#/$defs/address" },
          contactMethod: { type: "string", enum: ["phone", "email"] },
          phone: { type: "string" },
          email: { type: "string" },
        },
        allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
        if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ["phone"] },
        else: { required: ["email"] },
        additionalProperties: false,
      }),
    },
    (args) => text(`JSON Schema 2020-12 tool called with: ${JSON.stringify(args)}`),
  );
}
