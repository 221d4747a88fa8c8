/** `prompts/list` and `prompts/get`. */
import { ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../../adapters/contract.ts";
import type { ServedConnection } from "../../connections/types.ts";
import { useItem } from "../../gateway/item.ts";
import type { Toolset } from "../../gateway/toolset.ts";
import { conduct } from "../asking/rounds.ts";
import { callerOf, type Face, paramsOf, type SessionView } from "../face.ts";
import { page } from "./pages.ts";

interface VisiblePrompt {
  readonly name: string;
  readonly own: string;
  readonly connection: ServedConnection;
  readonly definition: JsonObject;
}

/** Sets the handlers of the prompts on one server object. */
export function servePrompts(face: Face, server: Server, session: SessionView | undefined): void {
  server.setRequestHandler("prompts/list", (request, ctx) => {
    const { items, nextCursor } = page(
      visiblePrompts(callerOf(ctx).toolset),
      (prompt) => prompt.name,
      paramsOf(request)["cursor"],
    );
    const prompts = items.map((prompt) => ({ ...prompt.definition, name: prompt.name }));
    return { prompts, ...(nextCursor === undefined ? {} : { nextCursor }) };
  });
  server.setRequestHandler("prompts/get", async (request, ctx) => {
    const caller = callerOf(ctx);
    const { name, arguments: args } = request.params;
    const prompt = findPrompt(caller.toolset, name);
    const result = await conduct(
      face,
      { server, ctx, session, caller, subject: name, args, results: false },
      (reachOf) =>
        useItem(face.gateway, {
          caller,
          door: "prompt",
          connection: prompt.connection,
          item: prompt.own,
          args: { ...args },
          reach: reachOf(prompt.connection),
          work: (upstream, call) => {
            if (!upstream.getPrompt) throw unknownPrompt(name);
            return upstream.getPrompt(prompt.own, args, call);
          },
        }),
    );
    return { messages: [], ...result };
  });
}

/** @throws ProtocolError -32602 for a prompt this caller cannot see */
export function findPrompt(toolset: Toolset, name: string): VisiblePrompt {
  const prompt = visiblePrompts(toolset).find((candidate) => candidate.name === name);
  if (!prompt) throw unknownPrompt(name);
  return prompt;
}

const unknownPrompt = (name: string) =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt "${name.slice(0, 80)}"`);

function visiblePrompts(toolset: Toolset): VisiblePrompt[] {
  const visible: VisiblePrompt[] = [];
  for (const connection of toolset.served.values()) {
    const publicName = new Map([...connection.promptNames].map(([name, own]) => [own, name]));
    for (const definition of connection.prompts) {
      const own = String(definition["name"]);
      if (!toolset.admits(connection, "prompt", own)) continue;
      const name = toolset.transparent ? own : (publicName.get(own) ?? own);
      visible.push({ name, own, connection, definition });
    }
  }
  return visible;
}
