/** A connection's session with a piece: nothing is kept open, every call finds or makes its isolate. */
import {
  type AdapterContext,
  type AdapterSession,
  type CallContext,
  type Credential,
  type Health,
  type JsonObject,
  type Outcome,
  UpstreamError,
} from "../contract.ts";
import { startDeadline } from "../mcp/deadline.ts";
import { coerced, unknownKey, withDefaults } from "./arguments.ts";
import { CredentialProblem, formFor, type ShapedCredential, shapeCredential, withCredentialProps } from "./auth.ts";
import { type PieceConfig, readConfig } from "./config.ts";
import type { Action, AuthForm, PieceDescription } from "./description.ts";
import { FileProblem, keepFiles, loadFiles } from "./files.ts";
import type { PieceCall, PieceHost, PieceRun } from "./host.ts";
import { type Lookup, lookupOf, optionsResult, optionsTool } from "./options.ts";
import { doneResult, failedResult, notSent } from "./results.ts";
import { OPTIONS_TOOL, schemaOf } from "./schema.ts";
import { annotationsOf, hasChoices, toolOf, visibleActions } from "./visible.ts";

interface Piece {
  readonly bundle: string;
  readonly host: PieceHost;
  readonly description: PieceDescription;
  /** What exists at this connection and can be called. */
  readonly actions: readonly Action[];
}

interface Authenticated {
  readonly form: AuthForm | undefined;
  readonly credential: Credential | undefined;
  readonly shaped: ShapedCredential | undefined;
}

export function openPiece(context: AdapterContext): AdapterSession {
  const config = readConfig(context.config);
  let found: Promise<Piece> | undefined;
  const piece = () => {
    found ??= findPiece(context, config);
    return found;
  };
  // A failure is told each time; it may have an end.
  const use = () =>
    piece().catch((error: unknown) => {
      found = undefined;
      throw error;
    });
  return {
    introduction: () => ({ serverInfo: { name: config.piece }, protocol: "piece" }),
    async listTools() {
      const { description, actions } = await use();
      const tools = actions.flatMap((action) => toolOf(action) ?? []);
      const companion = hasChoices(served(context, actions)) ? [optionsTool(description.title)] : [];
      return [...tools, ...companion];
    },
    async callTool(name, args, call) {
      call.signal.throwIfAborted();
      const found = await use();
      if (name === OPTIONS_TOOL) {
        return asOutcome(await inTime(context, call, (bounded) => lookUp(context, config, found, args, bounded)));
      }
      const action = found.actions.find((candidate) => candidate.name === name);
      if (action === undefined) {
        throw new UpstreamError("upstream_protocol", `There is no action ${name} any more.`, { processed: "no" });
      }
      return asOutcome(
        await inTime(context, call, (bounded) => runAction(context, config, found, action, args, bounded)),
      );
    },
    check: async () => check(context, config, await use()),
    close: async () => undefined,
  };
}

/** Ends work with the caller's own reason, or when the call has had its time; the sandbox has limits of its own. */
async function inTime(
  context: AdapterContext,
  call: CallContext,
  work: (call: CallContext) => Promise<JsonObject>,
): Promise<JsonObject> {
  const deadline = startDeadline(call);
  try {
    return await work({ ...call, signal: AbortSignal.any([context.signal, deadline.signal]) });
  } catch (error) {
    throw deadline.reason() ?? error;
  } finally {
    deadline.end();
  }
}

async function findPiece({ pieces, connection }: AdapterContext, config: PieceConfig): Promise<Piece> {
  const { bundle, reason } = config;
  if (pieces === undefined) {
    throw new UpstreamError("sandbox_unavailable", "Pieces cannot be run on this server.", { processed: "no" });
  }
  if (bundle === undefined) {
    throw new UpstreamError("piece_unavailable", reason, { processed: "no", detail: connection.slug });
  }
  const description = await pieces.describe(bundle);
  const actions = visibleActions(description, config).filter((action) => schemaOf(action).kind === "schema");
  return { bundle, host: pieces, description, actions };
}

/** Choices of an action that the connection's patterns do not let exist do not exist either. */
function served({ classOf }: AdapterContext, actions: readonly Action[]): Action[] {
  return actions.filter((action) => classOf === undefined || classOf(action.name, annotationsOf(action)) !== undefined);
}

async function runAction(
  context: AdapterContext,
  config: PieceConfig,
  piece: Piece,
  action: Action,
  args: JsonObject,
  call: CallContext,
): Promise<JsonObject> {
  const made = schemaOf(action);
  // A transparent endpoint checks no schema before us.
  const stranger = made.kind === "schema" ? unknownKey(made.schema, args) : undefined;
  if (stranger !== undefined) {
    const guess = stranger.nearest === undefined ? "" : ` Did you mean ${stranger.nearest}?`;
    return notSent(`${action.name} has no argument ${stranger.name}.${guess}`);
  }
  try {
    const loaded = await loadFiles(context, call, action.props, args);
    const reads = annotationsOf(action)["readOnlyHint"] === true;
    const run = await withCredential(context, config, piece, reads, (auth) =>
      piece.host.run({
        ...pieceCall(piece, auth, call),
        action: action.name,
        props: { ...loaded.args, ...legacyProps(piece, action, auth) },
        files: loaded.files,
      }),
    );
    if (run.kind === "failed") return failedResult(run.error);
    return await delivered(call, run);
  } catch (error) {
    return told(error);
  }
}

/** The action has run: that its files cannot be kept does not undo it. */
async function delivered(call: CallContext, run: Extract<PieceRun, { kind: "done" }>): Promise<JsonObject> {
  try {
    const kept = await keepFiles(call, run.result, run.files);
    return doneResult(kept.result, kept.links);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const note = { type: "text", text: `The action was done, but its files could not be kept: ${reason}` };
    const result = doneResult(run.result, []);
    return { ...result, content: [note, ...(Array.isArray(result["content"]) ? result["content"] : [])] };
  }
}

async function lookUp(
  context: AdapterContext,
  config: PieceConfig,
  piece: Piece,
  args: JsonObject,
  call: CallContext,
): Promise<JsonObject> {
  const lookup = lookupOf(served(context, piece.actions), args);
  if (lookup.kind === "problem") return notSent(lookup.text);
  const values = lookupValues(lookup);
  try {
    const run = await withCredential(context, config, piece, true, (auth) =>
      piece.host.options({
        ...pieceCall(piece, auth, call),
        action: lookup.action.name,
        prop: lookup.prop.name,
        values: { ...values, ...legacyProps(piece, lookup.action, auth) },
        ...(lookup.search === undefined ? {} : { search: lookup.search }),
      }),
    );
    return run.kind === "failed" ? failedResult(run.error) : optionsResult(lookup, run.result);
  } catch (error) {
    return told(error);
  }
}

/** Known values as the action would get them; its defaults count as known. */
function lookupValues({ action, values }: Extract<Lookup, { kind: "lookup" }>): JsonObject {
  const made = schemaOf(action);
  return made.kind === "schema" ? withDefaults(made.schema, coerced(made.schema, values)) : values;
}

async function check(context: AdapterContext, config: PieceConfig, piece: Piece): Promise<Health> {
  let auth: Authenticated;
  try {
    auth = authenticated(piece, config, await context.credential());
  } catch (error) {
    if (!(error instanceof CredentialProblem)) throw error;
    return { state: "unhealthy", code: "authentication_required", message: error.message };
  }
  const { form, shaped } = auth;
  if (form === undefined || shaped === undefined || !form.validates) return { state: "configured" };
  try {
    const call = { bundle: piece.bundle, auth: shaped.forValidate, secrets: shaped.secrets, signal: context.signal };
    const answer = await piece.host.validate({ ...call, authIndex: form.index });
    if (!answer.supported) return { state: "configured" };
    if (answer.valid) return { state: "healthy" };
    const message = answer.error ?? "The piece does not accept the credential.";
    return { state: "unhealthy", code: "authentication_required", message };
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return { state: "unhealthy", code: error.code, message: error.message };
  }
}

/**
 * Runs work with the connection's credential. Where the service refuses a token that can be renewed it is renewed; what
 * only reads is then done once more, and nothing else is: what a piece sent before it failed is not known.
 */
async function withCredential(
  context: AdapterContext,
  config: PieceConfig,
  piece: Piece,
  reads: boolean,
  work: (auth: Authenticated) => Promise<PieceRun>,
): Promise<PieceRun> {
  const first = authenticated(piece, config, await context.credential());
  const run = await work(first);
  if (run.kind !== "failed" || run.error.httpStatus !== 401 || first.form?.type !== "OAUTH2") return run;
  const next = await context.credential({ credential: first.credential, status: 401 });
  const isNew = next?.kind === "bearer" && first.credential?.kind === "bearer" && next.token !== first.credential.token;
  if (!isNew) return run;
  if (reads) return work(authenticated(piece, config, next));
  const message = `${run.error.message} The sign-in was renewed now; check what was done and call again.`;
  return { kind: "failed", error: { ...run.error, message } };
}

function authenticated(piece: Piece, config: PieceConfig, credential: Credential | undefined): Authenticated {
  const form = formFor(piece.description, config.method);
  if (form === undefined) return { form, credential, shaped: undefined };
  return { form, credential, shaped: shapeCredential(piece.description, form, credential, config.values) };
}

function pieceCall({ bundle }: Piece, auth: Authenticated, call: CallContext): PieceCall {
  return {
    bundle,
    auth: auth.shaped?.value,
    secrets: auth.shaped?.secrets ?? [],
    signal: call.signal,
  };
}

/** The oldest generation takes its credential as one of an action's arguments. */
function legacyProps({ description }: Piece, action: Action, { form, shaped }: Authenticated): JsonObject {
  if (description.auth.length > 0 || form === undefined) return {};
  return withCredentialProps(action, form.type, shaped?.value);
}

/** What kept a call from being made, in words for the caller; everything else is thrown on. */
function told(error: unknown): JsonObject {
  if (error instanceof CredentialProblem || error instanceof FileProblem) return notSent(error.message);
  throw error;
}

const asOutcome = (result: JsonObject): Outcome => ({ kind: "result", result });
