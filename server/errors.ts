/**
 * The one table of errors: stable code, HTTP status, JSON-RPC code and public text.
 * The caller gets the public text; log and audit get `detail`.
 */

interface Entry {
  /** HTTP status where the error ends an HTTP request. */
  readonly status: number;
  /** JSON-RPC code where it ends a JSON-RPC request; absent: it is told as a result with `isError`. */
  readonly rpc?: number;
  readonly text: string;
}

export const ERRORS = {
  // The HTTP door (MCP 2026-07-28, "Streamable HTTP")
  origin_refused: { status: 403, rpc: -32600, text: "This Origin is not allowed to call this server." },
  host_refused: { status: 403, rpc: -32600, text: "This Host is not served here." },
  token_missing: { status: 401, rpc: -32600, text: "Send an Authorization: Bearer token for this endpoint." },
  token_invalid: {
    status: 401,
    rpc: -32600,
    text: "The bearer token is not valid here: it is wrong, expired, revoked or for another endpoint.",
  },
  scope_missing: { status: 403, rpc: -32600, text: "The token does not carry a scope of this endpoint." },
  not_found: { status: 404, rpc: -32600, text: "There is nothing at this address." },
  method_not_allowed: { status: 405, rpc: -32600, text: "This method is not served here; send a POST." },
  not_acceptable: { status: 406, rpc: -32600, text: "Accept must name application/json and text/event-stream." },
  body_too_large: { status: 413, rpc: -32600, text: "The request body is larger than 4 MiB." },
  body_too_deep: { status: 400, rpc: -32600, text: "The request body is nested too deeply." },
  content_type: { status: 415, rpc: -32600, text: "Content-Type must be application/json." },
  parse_error: { status: 400, rpc: -32700, text: "The request body is not valid JSON." },
  invalid_request: { status: 400, rpc: -32600, text: "The request is not a valid JSON-RPC message." },
  session_required: { status: 400, rpc: -32600, text: "Mcp-Session-Id is required; send initialize first." },
  session_not_found: { status: 404, rpc: -32001, text: "Session not found; send initialize again." },
  loop_detected: {
    status: 508,
    rpc: -32600,
    text: "This request came through this server already: a connection leads back to it.",
  },
  too_many: { status: 503, rpc: -32603, text: "The server holds too many sessions or streams; try again later." },
  stopping: { status: 503, rpc: -32603, text: "The server is stopping; send the request again." },
  internal: { status: 500, rpc: -32603, text: "Something went wrong in the proxy. The operator's log says what." },

  // The API
  sign_in_required: { status: 401, text: "Sign in, or send an Authorization: Bearer agent token." },
  csrf_refused: {
    status: 403,
    text: "The request does not come from a page of ours: send the csrf of GET /api/me in X-CSRF-Token.",
  },
  recent_sign_in_required: { status: 403, text: "This needs a sign-in of the last 15 minutes. Sign in again." },
  invalid_input: { status: 400, text: "The request does not have the form that /api/openapi.json describes." },
  conflict: { status: 409, text: "Somebody changed this meanwhile. Read it again." },
  rate_limited: { status: 429, text: "Too many requests; wait as long as Retry-After says." },

  // A call
  unknown_tool: { status: 200, rpc: -32602, text: "Unknown tool. Find tools with tool_search." },
  invalid_arguments: { status: 200, text: "The arguments do not fit the tool's input schema." },
  tool_changed: {
    status: 200,
    text: "The tool's definition changed upstream and waits for a person's review. Use another tool or ask an administrator.",
  },
  class_refused: { status: 200, text: "tool_read calls only read tools; call this one with tool_write." },
  scope_refused: { status: 200, text: "The token does not allow this kind of call." },
  guard_refused: { status: 200, text: "The arguments are outside what this endpoint allows." },
  approval_required: { status: 200, text: "A person must approve this call first." },
  approval_impossible: { status: 200, text: "An approval cannot be asked for." },
  approval_unknown: {
    status: 404,
    text: "There is no such approval for this call: it belongs to another caller, endpoint or tool, or never was.",
  },
  approval_refused: { status: 200, text: "The call was refused by a person. Do not try it again unchanged." },
  approval_expired: { status: 410, text: "The approval has expired. Call the tool again to ask for another." },
  approval_used: {
    status: 409,
    text: "The approval was used before; each one runs one call. Call the tool again to ask for another.",
  },
  approval_changed: {
    status: 409,
    text: "The call is not the one that was approved: its arguments, the tool or the policy changed. Call the tool again to ask for another approval.",
  },
  approval_decided: { status: 409, text: "The approval was decided before." },
  approval_not_yours: { status: 403, text: "You may not decide about this call." },
  authorization_required: { status: 200, text: "The connection needs a sign-in first." },
  missing_variable: {
    status: 200,
    text: "The connection's configuration names an environment variable that is not set.",
  },
  invalid_credential: { status: 400, text: "The credential cannot be stored like this." },
  credential_unreadable: {
    status: 200,
    text: "The stored credential of the connection cannot be opened. An administrator must set it again.",
  },
  vault_unavailable: { status: 503, text: "The store of secrets cannot be reached; try again." },
  blocked_address: { status: 200, text: "The address of the connection is not allowed." },
  pairing_unavailable: { status: 200, text: "No connection can be paired." },
  packet_invalid: { status: 200, text: "This is not a pairing packet of this connection." },
  packet_used: { status: 200, text: "This packet was used before. Ask for a new one." },
  pairing_failed: { status: 200, text: "The packet could not be redeemed." },
  asked_and_refused: { status: 200, text: "The question of the service was not answered, so the call ended." },
  call_lost: { status: 200, text: "The pending call is gone. Call the tool again." },
  result_too_large: { status: 200, text: "The result is larger than the proxy passes on." },
  asset_not_found: {
    status: 200,
    rpc: -32602,
    text: "There is no such file: the handle has expired, or it is not yours in this environment.",
  },
  asset_damaged: { status: 200, rpc: -32603, text: "The kept file is not what it was, so it is not used." },
  asset_too_large: { status: 200, text: "The file is larger than this server keeps." },
  asset_quota: { status: 200, text: "The space for kept files is used up. Files go away by themselves; try later." },
  asset_refused: { status: 200, text: "The file holds the credential of this connection, so it was not kept." },
  asset_unavailable: { status: 200, rpc: -32603, text: "The store of files cannot be reached; try again." },
  outcome_unknown: {
    status: 200,
    text: "The service may have acted, but its answer was lost. Check before you call again.",
  },
  cancelled: { status: 200, text: "The call was cancelled." },
  upstream_unreachable: { status: 200, text: "The service behind the connection cannot be reached." },
  upstream_timeout: { status: 200, text: "The service behind the connection did not answer in time." },
  upstream_protocol: {
    status: 200,
    text: "The service behind the connection answered with something that is not MCP.",
  },
  upstream_status: { status: 200, text: "The service behind the connection answered with an error." },
  upstream_died: { status: 200, text: "The process behind the connection ended in mid-call." },
  worker_oom: { status: 200, text: "The piece used more memory than it may; its process was ended." },
  worker_timeout: { status: 200, text: "The piece did not finish in time; it was ended." },
  worker_died: { status: 200, text: "The process of the piece ended in mid-call." },
  sandbox_unavailable: { status: 200, text: "Pieces cannot be run at this moment; try again." },
  piece_unavailable: { status: 200, text: "The piece is not offered or not installed on this server." },
  piece_refused: { status: 400, text: "The piece cannot be installed." },
  unsupported_in_tool: { status: 200, text: "The action needs what only a flow has, so it cannot run as a tool." },
  authentication_required: { status: 200, text: "The service behind the connection requires authentication." },

  // People
  permission_missing: { status: 403, text: "This needs a permission that you do not have." },
  person_unknown: { status: 404, text: "There is no such person here." },
  last_admin: { status: 409, text: "An organization keeps at least one admin. Make somebody else an admin first." },
  invalid_people: { status: 422, text: "This cannot be saved like this." },
  identity_taken: { status: 409, text: "This sign-in belongs to somebody else here." },
  username_taken: { status: 409, text: "Somebody has this username already." },
  link_ended: { status: 410, text: "This link has expired or was used." },
  busy: { status: 503, text: "Too many people sign in at this moment. Try again in a minute." },

  // Configuration by hand
  invalid_entry: { status: 400, text: "What was entered is not valid." },
  edit_conflict: { status: 409, text: "Somebody changed this in the meantime. Look at what changed, and save again." },
  slug_taken: { status: 409, text: "This name is taken." },
  declared_in_file: { status: 409, text: "This is declared in a configuration file and is changed there." },
  in_use: { status: 409, text: "This is still in use." },
  nothing_to_publish: { status: 409, text: "Nothing waits to be published." },

  // Start and configuration
  config_invalid: { status: 500, text: "The configuration is not valid." },
  start_failed: { status: 500, text: "The server cannot start." },
  audit_broken: { status: 500, text: "The audit is not as it was written." },
  database_unavailable: { status: 503, rpc: -32603, text: "The database cannot be reached; try again." },
} as const satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof ERRORS;

/** An error with a stable code. `message` is public; `detail` is for log and audit only. */
export class JackfieldError extends Error {
  override readonly name = "JackfieldError";
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly data: unknown;
  constructor(code: ErrorCode, options: { text?: string; detail?: string; data?: unknown; cause?: unknown } = {}) {
    super(options.text ?? ERRORS[code].text, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
    this.data = options.data;
  }
  get status(): number {
    return ERRORS[this.code].status;
  }
  get rpc(): number | undefined {
    const entry: Entry = ERRORS[this.code];
    return entry.rpc;
  }
}
