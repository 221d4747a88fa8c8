/** What the MCP endpoint needs of the authorization server. */
import type { PeopleDoor } from "../mcp/endpoint.ts";
import type { AuthorizationServer } from "./authorization-server.ts";
import { challengeFor } from "./metadata.ts";

/** Verifies tokens, and tells those who have none where to get one. */
export function peopleDoor({ tokens, resources }: AuthorizationServer): PeopleDoor {
  return {
    verify: (token, endpoint) => tokens.verify(token, endpoint),
    challenge(endpoint, request, error) {
      const signsIn = endpoint?.config.signIn === "on" ? endpoint : undefined;
      const path = request.path.replace(/\/+$/, "");
      return challengeFor(signsIn, resources.shownOrigin(request.headers.host), path, error);
    },
  };
}
