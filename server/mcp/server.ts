/** One SDK server object with every handler of the MCP face, for one request (modern) or one session (legacy). */
import { isInputRequiredResult, Server, type ServerCapabilities } from "@modelcontextprotocol/server";
import type { GatewayCaller } from "../gateway/caller.ts";
import { unmetRequirements } from "../gateway/connection-states.ts";
import type { Face, SessionView } from "./face.ts";
import { instructionsFor } from "./instructions.ts";
import { serveCompletion } from "./methods/completion.ts";
import { serveLogging } from "./methods/logging.ts";
import { servePrompts } from "./methods/prompts.ts";
import { serveResources, serveSubscriptions } from "./methods/resources.ts";
import { serveTools } from "./methods/tools.ts";
import { toProtocolError } from "./problems.ts";

/** Builds the server object. Low-level `Server` on purpose: its cost does not grow with the number of tools. */
export async function buildServer(
  face: Face,
  caller: GatewayCaller,
  session: SessionView | undefined,
): Promise<Server> {
  const { transparent } = caller.toolset;
  const capabilities = capabilitiesFor(caller);
  const instructions = instructionsFor(caller.toolset, await unmetRequirements(face.gateway.authorizations, caller));
  const server = new FaceServer(transparent, face.identity, {
    capabilities,
    ...(instructions ? { instructions } : {}),
  });
  serveTools(face, server, session);
  if (capabilities.prompts) servePrompts(face, server, session);
  if (capabilities.resources) serveResources(face, server, session);
  if (capabilities.completions) serveCompletion(face, server, session);
  if (session && capabilities.resources?.subscribe) serveSubscriptions(face, server, session);
  if (session && capabilities.logging) serveLogging(face, server, session);
  return server;
}

/** Translates what handlers throw in one place, and lets results of tools pass as they are. */
class FaceServer extends Server {
  readonly #transparent: boolean;
  constructor(transparent: boolean, ...rest: ConstructorParameters<typeof Server>) {
    super(...rest);
    this.#transparent = transparent;
  }
  protected override _wrapHandler(
    ...[method, handler]: Parameters<Server["_wrapHandler"]>
  ): ReturnType<Server["_wrapHandler"]> {
    return async (request, ctx) => {
      let verbatim: Awaited<ReturnType<typeof handler>> | undefined;
      // The SDK would cut a tool's result down to the fields it knows; it gets to see an empty one instead.
      const wrapped = super._wrapHandler(method, async (...given) => {
        const result = await handler(...given);
        if (method !== "tools/call" || isInputRequiredResult(result)) return result;
        verbatim = result;
        return { content: [] };
      });
      try {
        const answer = await wrapped(request, ctx);
        return verbatim ?? answer;
      } catch (error) {
        throw toProtocolError(error, this.#transparent);
      }
    };
  }
}

/** Advertised lists are the same for every caller of a kind of endpoint, so that a client need not reconnect. */
function capabilitiesFor(caller: GatewayCaller): ServerCapabilities {
  if (!caller.toolset.transparent) {
    return {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true },
      completions: {},
    };
  }
  const [connection] = caller.toolset.served.values();
  const upstream = connection?.introduction?.capabilities ?? {};
  return {
    tools: { listChanged: true },
    ...(upstream["prompts"] ? { prompts: { listChanged: true } } : {}),
    ...(upstream["resources"] ? { resources: { listChanged: true, subscribe: true } } : {}),
    // Files that its tools answer with are read as resources.
    ...(connection !== undefined && connection.type !== "mcp" ? { resources: { listChanged: true } } : {}),
    ...(upstream["completions"] ? { completions: {} } : {}),
    ...(upstream["logging"] ? { logging: {} } : {}),
  };
}
