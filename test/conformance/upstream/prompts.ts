/** Prompts and completion; names and texts are fixed by the official conformance suite. */

import type { GetPromptResult, InputRequiredResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import { acceptedContent, inputRequired } from "@modelcontextprotocol/server";
import { z } from "zod";
import { askField } from "./questions.ts";
import { PIXEL_PNG } from "./samples.ts";

type Content = GetPromptResult["messages"][number]["content"];

/** A prompt of user messages. */
function prompt(...contents: Content[]): GetPromptResult {
  return { messages: contents.map((content) => ({ role: "user" as const, content })) };
}

/** Registers the prompts and a completion that offers the values starting with what was typed. */
export function registerPrompts(server: McpServer): void {
  server.registerPrompt("test_simple_prompt", { title: "Simple", description: "A prompt without arguments" }, () =>
    prompt({ type: "text", text: "This is a simple prompt for testing." }),
  );

  server.registerPrompt(
    "test_prompt_with_arguments",
    {
      title: "With arguments",
      description: "A prompt with two required arguments",
      argsSchema: z.object({
        arg1: z.string().describe("First argument"),
        arg2: z.string().describe("Second argument"),
      }),
    },
    ({ arg1, arg2 }) => prompt({ type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  );

  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    {
      title: "With a resource",
      description: "A prompt that embeds a resource",
      argsSchema: z.object({ resourceUri: z.string().describe("URI of the resource to embed") }),
    },
    ({ resourceUri }) =>
      prompt(
        {
          type: "resource",
          resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." },
        },
        { type: "text", text: "Please process the embedded resource above." },
      ),
  );

  server.registerPrompt(
    "test_prompt_with_image",
    { title: "With an image", description: "A prompt with an image" },
    () =>
      prompt(
        { type: "image", data: PIXEL_PNG, mimeType: "image/png" },
        { type: "text", text: "Please analyze the image above." },
      ),
  );

  server.registerPrompt(
    "test_input_required_result_prompt",
    { title: "Asks first", description: "A prompt that asks for its context", argsSchema: z.object({}) },
    (_args, context: ServerContext): GetPromptResult | InputRequiredResult => {
      const form = acceptedContent(context.mcpReq.inputResponses, "user_context", z.object({ context: z.string() }));
      if (form !== undefined) return prompt({ type: "text", text: `Use the following context: ${form.context}` });
      const question = askField("What context should the prompt use?", "context", "string");
      return inputRequired({ inputRequests: { user_context: question } });
    },
  );

  server.server.setRequestHandler("completion/complete", ({ params }) => {
    const values = ["paris", "park", "party"].filter((value) => value.startsWith(params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
}
