/** `completion/complete`, only for prompts and templates that the caller can see. */
import type { Server } from "@modelcontextprotocol/server";
import { JackfieldError } from "../../errors.ts";
import { useItem } from "../../gateway/item.ts";
import { parsePublicTemplate } from "../../gateway/uris.ts";
import { callerOf, type Face, paramsOf, type SessionView } from "../face.ts";
import { findPrompt } from "./prompts.ts";
import { findTemplate } from "./resources.ts";

/** Sets the handler of completions on one server object. */
export function serveCompletion(face: Face, server: Server, session: SessionView | undefined): void {
  server.setRequestHandler("completion/complete", async (request, ctx) => {
    const caller = callerOf(ctx);
    const { ref } = request.params;
    const { toolset } = caller;
    const target =
      ref.type === "ref/prompt"
        ? toPrompt(findPrompt(toolset, ref.name))
        : toTemplate(findTemplate(toolset, toolset.transparent ? { uri: ref.uri } : parsePublicTemplate(ref.uri)));
    const result = await useItem(face.gateway, {
      caller,
      door: "completion",
      connection: target.connection,
      item: target.item,
      reach: {
        caller: {
          key: toolset.transparent && session ? `session:${session.id}` : caller.principal.key,
          capabilities: {},
        },
        signal: ctx.mcpReq.signal,
      },
      work: (upstream, call) => {
        if (!upstream.complete)
          throw new JackfieldError("not_found", { text: `${target.connection.label} offers no completions.` });
        return upstream.complete({ ...paramsOf(request), ref: target.ref }, call);
      },
    });
    return { completion: { values: [] }, ...result };
  });
}

const toPrompt = ({ connection, own }: ReturnType<typeof findPrompt>) => ({
  connection,
  item: own,
  ref: { type: "ref/prompt", name: own },
});
const toTemplate = ({ connection, own }: ReturnType<typeof findTemplate>) => ({
  connection,
  item: own,
  ref: { type: "ref/resource", uri: own },
});
