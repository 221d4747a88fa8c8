/** The server's `instructions`: what this caller reaches, in few words (design section 6). */
import type { Toolset } from "../gateway/toolset.ts";

const NAMED = 12;

/**
 * Words for the model of one caller; the upstream's own at a transparent endpoint.
 * @param unmet required connections that cannot be used, each a sentence
 */
export function instructionsFor(toolset: Toolset, unmet: readonly string[]): string | undefined {
  if (toolset.transparent) {
    const [connection] = toolset.served.values();
    return connection?.introduction?.instructions;
  }
  const usable = toolset.connections.filter((connection) => connection.tools > 0);
  const named = usable
    .slice(0, NAMED)
    .map((connection) =>
      connection.label === connection.slug ? connection.slug : `${connection.slug} (${connection.label})`,
    );
  const more = usable.length > NAMED ? ` and ${usable.length - NAMED} more` : "";
  const reach =
    usable.length === 0
      ? "No connected service has tools for you yet."
      : `This server reaches the tools of connected services: ${named.join(", ")}${more}.`;
  return [
    reach,
    "Find a tool with tool_search, then call it by its name, or through tool_read or tool_write where it is not offered to you.",
    ...unmet,
  ].join(" ");
}
