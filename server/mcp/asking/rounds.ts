/**
 * The rounds of one request that may need answers of the caller: tools/call, prompts/get, resources/read.
 *
 * caller -> upstream   how
 * modern -> modern     `input_required` is relayed, the upstream's state sealed into ours; nothing is kept here
 * modern -> legacy     the upstream asks in mid-call: the call is parked, its question ends the request
 * legacy -> modern     `input_required` is returned to the SDK, which asks over the session and comes back
 * legacy -> legacy     the question goes to the caller's session at once
 */
import {
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
  type StandardSchemaV1,
} from "@modelcontextprotocol/server";
import type { JsonObject, Question } from "../../../adapters/contract.ts";
import type { ServedConnection } from "../../connections/types.ts";
import { ERRORS, JackfieldError } from "../../errors.ts";
import type { CallOutcome, Reach } from "../../gateway/call.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import { failure } from "../../gateway/results.ts";
import type { Scope } from "../../people/principal.ts";
import type { Face, SessionView } from "../face.ts";
import { nextHops } from "../hops.ts";
import { APPROVAL_QUESTION, approvalQuestion, takeApprovalAnswer, takesForms } from "./approval.ts";
import { legOf, requestedLogLevel, wanted } from "./leg.ts";
import type { Leg, Turn } from "./parking.ts";
import { isRefusal, objection, permittedCapabilities, present } from "./questions.ts";
import {
  awaitSignIn,
  awaitStepUp,
  SIGN_IN_QUESTION,
  STEP_UP_QUESTION,
  signInQuestion,
  stepUpQuestion,
} from "./sign-in.ts";

export interface Conduct {
  readonly server: Server;
  readonly ctx: ServerContext;
  readonly session: SessionView | undefined;
  readonly caller: GatewayCaller;
  /** What the request is about, bound into its state: a tool's name, a prompt's, a resource's address. */
  readonly subject: string;
  readonly args: unknown;
  /** Whether a failure is a result with `isError` (tools/call) or a protocol error. */
  readonly results: boolean;
}

/** @param caller of this round: a person may have allowed it more since the request began */
type Run = (reachOf: (connection: ServedConnection) => Reach, caller: GatewayCaller) => Promise<CallOutcome>;

const PARKED_QUESTION = "question";
const anything: StandardSchemaV1<unknown, JsonObject> = {
  "~standard": { version: 1, vendor: "jackfield", validate: (value) => ({ value: value as JsonObject }) },
};

/** Runs one request to its result or its next questions. Errors: what `run` throws, and -32602 for a bad state. */
export async function conduct(face: Face, request: Conduct, run: Run): Promise<JsonObject> {
  const { ctx, subject, args } = request;
  let { caller } = request;
  const { transparent } = caller.toolset;
  const given = givenState(request, face);
  const leg = legOf(ctx, transparent, face.log);
  const owner = `${caller.principal.key}|${caller.endpoint.id}`;
  let asker: ServedConnection | undefined;
  const reachOf =
    (legNow: Leg, park?: (question: Question) => Promise<JsonObject>) => (connection: ServedConnection) => {
      asker = connection;
      return reach(face, request, connection, legNow, given, park);
    };
  try {
    if (given.signIn !== undefined) {
      await awaitSignIn(face, caller, given.signIn, given.signInAnswer, leg.signal);
    }
    if (given.stepUp !== undefined) {
      caller = await awaitStepUp(face, caller, given.stepUp, given.stepUpAnswer, leg.signal);
    }
    if (given.approval !== undefined) {
      const ended = await takeApprovalAnswer(face, caller, given.approval, given.approvalAnswer);
      if (ended) return ended;
    }
    let turn: Turn;
    if (given.parked !== undefined) {
      const resumed = face.parking.resume(given.parked, owner, leg, given.responses?.[PARKED_QUESTION]);
      if (!resumed) return lost(request);
      turn = await resumed;
    } else if (caller.era === "modern") {
      turn = await face.parking.start(leg, owner, (parkedLeg, ask) => run(reachOf(parkedLeg, ask), caller));
    } else {
      turn = { kind: "outcome", outcome: await run(reachOf(leg), caller) };
    }
    if (turn.kind === "question") {
      return {
        resultType: "input_required",
        inputRequests: { [PARKED_QUESTION]: turn.question },
        requestState: face.stateSeal.seal(caller, subject, args, { parked: turn.id }),
      };
    }
    if (turn.outcome.kind === "result") return orQuestion(face, request, turn.outcome.result, given);
    return relay(face, request, turn.outcome, asker, given.refusedNow);
  } finally {
    leg.end();
  }
}

/** A result, or the question that may make it a better one; put once. */
async function orQuestion(face: Face, request: Conduct, result: JsonObject, given: Given): Promise<JsonObject> {
  const { caller, server, subject, args } = request;
  const capabilities = { ...server.getClientCapabilities() };
  const own = given.approval === undefined && (await approvalQuestion(face, caller, capabilities, result));
  if (own) {
    return {
      resultType: "input_required",
      inputRequests: { [APPROVAL_QUESTION]: own.question },
      requestState: face.stateSeal.seal(caller, subject, args, { approval: own.approval }),
    };
  }
  if (given.signIn !== undefined) return result;
  const more = given.stepUp === undefined ? stepUpQuestion(capabilities, result) : undefined;
  if (more) {
    return {
      resultType: "input_required",
      inputRequests: { [STEP_UP_QUESTION]: more.question },
      requestState: face.stateSeal.seal(caller, subject, args, { stepUp: more.scope }),
    };
  }
  const asked = signInQuestion(caller, capabilities, result);
  if (!asked) return result;
  return {
    resultType: "input_required",
    inputRequests: { [SIGN_IN_QUESTION]: asked.question },
    requestState: face.stateSeal.seal(caller, subject, args, { signIn: asked.connection }),
  };
}

interface Given {
  readonly parked?: string;
  readonly upstream?: string;
  readonly responses?: Record<string, JsonObject>;
  readonly refusedNow: boolean;
  /** The connection whose sign-in page was offered in the round before, and what the caller said to it. */
  readonly signIn?: string;
  readonly signInAnswer?: JsonObject;
  /** The scope whose page was offered in the round before, and what the caller said to it. */
  readonly stepUp?: Scope;
  readonly stepUpAnswer?: JsonObject;
  /** The approval that the caller was asked for in the round before, and what was said to it. */
  readonly approval?: string;
  readonly approvalAnswer?: JsonObject;
  readonly continues?: Reach["continues"];
}

/** What the caller carried back from the round before. @throws ProtocolError -32602 for a state that does not belong here */
function givenState(request: Conduct, face: Face): Given {
  const { ctx, caller, subject, args } = request;
  const sealed = ctx.mcpReq.requestState();
  const responses = ctx.mcpReq.inputResponses as Record<string, JsonObject> | undefined;
  const refused = Object.values(responses ?? {}).some(isRefusal);
  const base = responses ? { responses } : {};
  if (typeof sealed !== "string") return { ...base, refusedNow: refused };
  const state = face.stateSeal.open(caller, subject, args, sealed);
  // A transparent endpoint hands the upstream's own state through, and takes it back as it is.
  if (state === undefined && caller.toolset.transparent) return { ...base, upstream: sealed, refusedNow: refused };
  if (!state) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState", {
      reason: "invalid_request_state",
    });
  }
  if (state.signIn !== undefined) {
    const answer = responses?.[SIGN_IN_QUESTION];
    return { signIn: state.signIn, ...(answer ? { signInAnswer: answer } : {}), refusedNow: false };
  }
  if (state.stepUp !== undefined) {
    const answer = responses?.[STEP_UP_QUESTION];
    return { stepUp: state.stepUp, ...(answer ? { stepUpAnswer: answer } : {}), refusedNow: false };
  }
  if (state.approval !== undefined) {
    const answer = responses?.[APPROVAL_QUESTION];
    return { approval: state.approval, ...(answer ? { approvalAnswer: answer } : {}), refusedNow: false };
  }
  return {
    ...base,
    ...(state.continues === undefined ? {} : { continues: state.continues }),
    ...(state.parked === undefined ? {} : { parked: state.parked }),
    ...(state.upstream === undefined ? {} : { upstream: state.upstream }),
    refusedNow: refused || state.refused === true,
  };
}

/** How this call's connection may reach the caller. */
function reach(
  face: Face,
  request: Conduct,
  connection: ServedConnection,
  leg: Leg,
  given: Given,
  park: ((question: Question) => Promise<JsonObject>) | undefined,
): Reach {
  const { ctx, caller, session, server } = request;
  const { transparent } = caller.toolset;
  const capabilities = permittedCapabilities(connection, transparent, { ...server.getClientCapabilities() });
  const logLevel = session ? session.logLevel : requestedLogLevel(ctx);
  const { notify } = leg;
  const relay: Reach["notify"] = (notification) => {
    if (session || wanted(notification, logLevel)) notify?.(notification);
  };
  let refused = false;
  const put =
    park ?? ((question) => ctx.mcpReq.send(toRequest(question), anything, { timeout: face.gateway.timeouts.maxMs }));
  const ask = async (question: Question) => {
    const no = objection(connection, capabilities, { ...question });
    if (no || refused) throw new JackfieldError("asked_and_refused", no ? { text: no } : {});
    const answer = await put({ ...question, ...present(connection, transparent, { ...question }) });
    refused = !transparent && isRefusal(answer);
    return answer;
  };
  const resume =
    given.responses || given.upstream !== undefined
      ? {
          resume: {
            ...(given.responses ? { inputResponses: given.responses } : {}),
            ...(given.upstream === undefined ? {} : { requestState: given.upstream }),
          },
        }
      : {};
  return {
    caller: {
      key: transparent && session ? `session:${session.id}` : caller.principal.key,
      capabilities,
      ...(logLevel === undefined || !transparent ? {} : { logLevel }),
    },
    signal: leg.signal,
    // At a transparent endpoint nothing of our own is said in between.
    waits: !transparent && ctx.mcpReq._meta?.progressToken !== undefined,
    confirms: takesForms({ ...server.getClientCapabilities() }),
    ...(given.continues === undefined ? {} : { continues: given.continues }),
    ...(leg.progress ? { progress: leg.progress } : {}),
    ...(transparent && notify ? { notify: relay } : {}),
    ...(Object.keys(capabilities).length > 0 ? { ask } : {}),
    meta: { ...forwardedMeta(ctx, transparent), ...nextHops(face.instanceId, { ...ctx.mcpReq._meta }) },
    ...resume,
  };
}

function toRequest(question: Question): { method: string; params?: Record<string, unknown> } {
  return { method: question.method, ...(question.params ? { params: question.params } : {}) };
}

/** Relays the questions of a modern upstream; a caller that said no is not asked again. */
function relay(
  face: Face,
  request: Conduct,
  outcome: Extract<CallOutcome, { kind: "input_required" }>,
  connection: ServedConnection | undefined,
  refused: boolean,
): JsonObject {
  const { caller, server, subject, args } = request;
  const { transparent } = caller.toolset;
  const continues = outcome.approval === undefined ? {} : { continues: outcome.approval };
  const upstream = outcome.requestState === undefined ? {} : { upstream: outcome.requestState };
  const sealed = () => face.stateSeal.seal(caller, subject, args, { ...upstream, ...continues, refused });
  if (transparent || !connection) {
    // Opaque to the client; where the call was approved, the next round must show that it belongs to it.
    const state = outcome.approval === undefined ? {} : { requestState: sealed() };
    return { ...outcome.result, ...state, resultType: "input_required" };
  }
  if (refused) return refusedResult(request, ERRORS.asked_and_refused.text);
  const permitted = permittedCapabilities(connection, transparent, { ...server.getClientCapabilities() });
  const inputRequests: JsonObject = {};
  for (const [key, question] of Object.entries(outcome.inputRequests)) {
    const asked: JsonObject = typeof question === "object" && question !== null ? { ...question } : {};
    const no = objection(connection, permitted, asked);
    if (no) return refusedResult(request, no);
    inputRequests[key] = present(connection, transparent, asked);
  }
  return { resultType: "input_required", inputRequests, requestState: sealed() };
}

function refusedResult(request: Conduct, text: string): JsonObject {
  if (request.results) return failure("asked_and_refused", text);
  throw new JackfieldError("asked_and_refused", { text });
}

function lost(request: Conduct): JsonObject {
  if (request.results) return failure("call_lost", ERRORS.call_lost.text);
  throw new JackfieldError("call_lost");
}

const TRACE_KEYS = ["traceparent", "tracestate", "baggage"];

/** `_meta` belongs to the hop; only trace context goes on, and at a transparent endpoint what is not the protocol's. */
function forwardedMeta(ctx: ServerContext, transparent: boolean): JsonObject {
  const meta: JsonObject = { ...ctx.mcpReq._meta };
  return Object.fromEntries(
    Object.entries(meta).filter(([key]) => {
      if (key === "progressToken" || key.startsWith("io.modelcontextprotocol/")) return false;
      return transparent || TRACE_KEYS.includes(key);
    }),
  );
}
