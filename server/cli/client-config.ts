/** Configurations that a person can paste into a chat client. */

export interface ClientConfiguration {
  client: string;
  /** Where the text goes. */
  where: string;
  text: string;
}

export interface ClientTarget {
  /** The endpoint's full URL. */
  url: string;
  /** The bearer token, or a stand-in such as `<token>` where it must not be shown. */
  token: string;
  /** The token as a shell writes it, e.g. `$(cat data/first-token)`; default: `token` itself. */
  shellToken?: string;
  /** What the client calls this server. */
  name?: string;
}

const indented = (value: unknown) => JSON.stringify(value, null, 2);

/**
 * A request that shows in one answer that endpoint and token work: MCP 2026-07-28 is stateless, so no `initialize`
 * is needed before `tools/list`.
 */
function curl(url: string, shellToken: string): string {
  const version = "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta } });
  return [
    `curl -sS ${url}`,
    `-H "Authorization: Bearer ${shellToken}"`,
    `-H "Content-Type: application/json" -H "Accept: application/json, text/event-stream"`,
    `-H "MCP-Protocol-Version: ${version}" -H "Mcp-Method: tools/list"`,
    `-d '${body}'`,
  ].join(" \\\n  ");
}

/** The configurations of the clients that are asked for most, complete and ready to paste. */
export function clientConfigurations(target: ClientTarget): ClientConfiguration[] {
  const { url, token } = target;
  const name = target.name ?? "jackfield";
  const shellToken = target.shellToken ?? token;
  const headers = { Authorization: `Bearer ${token}` };
  return [
    {
      client: "Claude Code",
      where: "in a terminal",
      text: `claude mcp add --transport http ${name} ${url} --header "Authorization: Bearer ${shellToken}"`,
    },
    {
      client: "Cursor",
      where: "~/.cursor/mcp.json",
      text: indented({ mcpServers: { [name]: { url, headers } } }),
    },
    {
      client: "VS Code",
      where: ".vscode/mcp.json",
      text: indented({ servers: { [name]: { type: "http", url, headers } } }),
    },
    {
      client: "Any other client",
      where: "the usual JSON form",
      text: indented({ mcpServers: { [name]: { type: "http", url, headers } } }),
    },
    { client: "curl", where: "to try it without a client", text: curl(url, shellToken) },
  ];
}

/** All of them as text for a terminal. */
export function renderClientConfigurations(target: ClientTarget): string {
  const blocks = clientConfigurations(target).map(({ client, where, text }) => {
    const body = text
      .split("\n")
      .map((line) => `    ${line}`)
      .join("\n");
    return `  ${client} (${where})\n${body}\n`;
  });
  return blocks.join("\n");
}
