/**
 * Tools that ask and carry state over the client in `requestState`. The state comes back as untrusted input, so it is
 * signed when minted and verified before a handler sees it (MCP 2026-07-28, "Multi Round-Trip Requests").
 */

import type { McpServer, RequestStateCodec } from "@modelcontextprotocol/server";
import { acceptedContent, inputRequired, inputResponse } from "@modelcontextprotocol/server";
import { z } from "zod";
import { type Answer, modelAnswer } from "./asking-tools.ts";
import { text } from "./plain-tools.ts";
import { askField, askModel } from "./questions.ts";

/** What a `requestState` of this server says: which tool minted it, and how far that call has come. */
export interface CallState {
  tool: string;
  round: number;
  name?: string;
}

const noArguments = z.object({});
const nameForm = z.object({ name: z.string() });
const colorForm = z.object({ color: z.string() });
const confirmForm = z.object({ ok: z.boolean() });

/** Registers the tools that use `requestState`; `codec` signs it. */
export function registerStatefulTools(server: McpServer, codec: RequestStateCodec<CallState>): void {
  for (const [name, done] of [
    ["test_input_required_result_request_state", "state-ok: the state came back unchanged"],
    ["test_input_required_result_tampered_state", "integrity-ok: the state came back unchanged"],
  ] as const) {
    server.registerTool(
      name,
      { description: "Asks for a confirmation and expects its state back", inputSchema: noArguments },
      async (_args, context): Promise<Answer> => {
        const confirmed = acceptedContent(context.mcpReq.inputResponses, "confirm", confirmForm);
        const state = context.mcpReq.requestState<CallState>();
        if (confirmed !== undefined && state?.tool === name) return text(done);
        return inputRequired({
          inputRequests: { confirm: askField("Please confirm", "ok", "boolean") },
          requestState: await codec.mint({ tool: name, round: 1 }),
        });
      },
    );
  }

  server.registerTool(
    "test_input_required_result_multiple_inputs",
    { description: "Asks the user, the model and for the roots at once", inputSchema: noArguments },
    async (_args, context): Promise<Answer> => {
      const form = acceptedContent(context.mcpReq.inputResponses, "user_name", nameForm);
      const greeting = modelAnswer(context, "greeting");
      const roots = inputResponse(context.mcpReq.inputResponses, "client_roots");
      if (form !== undefined && greeting !== undefined && roots.kind === "roots") {
        return text(`${greeting} ${form.name}, with ${roots.roots.length} roots`);
      }
      return inputRequired({
        inputRequests: {
          user_name: askField("What is your name?", "name", "string"),
          greeting: askModel("Generate a greeting"),
          client_roots: inputRequired.listRoots(),
        },
        requestState: await codec.mint({ tool: "multiple_inputs", round: 1 }),
      });
    },
  );

  server.registerTool(
    "test_input_required_result_multi_round",
    { description: "Asks twice; the state remembers the first answer", inputSchema: noArguments },
    async (_args, context): Promise<Answer> => {
      const state = context.mcpReq.requestState<CallState>();
      const name = state?.name ?? acceptedContent(context.mcpReq.inputResponses, "step1", nameForm)?.name;
      if (state === undefined || name === undefined) {
        return inputRequired({
          inputRequests: { step1: askField("Step 1: What is your name?", "name", "string") },
          requestState: await codec.mint({ tool: "multi_round", round: 1 }),
        });
      }
      const color = acceptedContent(context.mcpReq.inputResponses, "step2", colorForm)?.color;
      if (color === undefined) {
        return inputRequired({
          inputRequests: { step2: askField("Step 2: What is your favorite color?", "color", "string") },
          requestState: await codec.mint({ tool: "multi_round", round: 2, name }),
        });
      }
      return text(`Multi-round complete: ${name} likes ${color}`);
    },
  );
}
