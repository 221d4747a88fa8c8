/** The session of an agent. It holds no state of tasks: what must last is with the caller's task desk. */
import type { SendMessageRequest, StreamResponse } from "@a2a-js/sdk";
import type { RequestOptions } from "@a2a-js/sdk/client";
import {
  type AdapterContext,
  type AdapterSession,
  type CallContext,
  type Health,
  type Introduction,
  type JsonObject,
  type KeptTask,
  type Outcome,
  type ToolDefinition,
  UpstreamError,
  UpstreamRpcError,
} from "../contract.ts";
import { isObject, textOf } from "../http-request/json.ts";
import { Agent } from "./agent.ts";
import type { A2aConfig } from "./config.ts";
import { failureOf } from "./failures.ts";
import { type Following, follow } from "./follow.ts";
import { Heard } from "./heard.ts";
import { type Continued, NotSent, partsOf, requestOf, textPart } from "./message.ts";
import { ANSWER, outcomeOf, type Telling } from "./result.ts";
import { failed, runTaskTool, taskStateOf } from "./tasks.ts";
import { COMPANIONS, skillOf, TASK_STATUS, toolsOf } from "./tools.ts";

/** The header that carries the statement about the caller. */
export const ASSERTION_HEADER = "jackfield-assertion";
const CHECK_MS = 15_000;
/** A task that no agent has: who knows that it does not has understood the request and taken the credential. */
const NO_TASK = "00000000-0000-4000-8000-000000000000";

export class A2aSession implements AdapterSession {
  readonly #context: AdapterContext;
  readonly #config: A2aConfig;
  readonly #later = new Set<Promise<unknown>>();
  #agent: Agent;

  private constructor(context: AdapterContext, config: A2aConfig, agent: Agent) {
    this.#context = context;
    this.#config = config;
    this.#agent = agent;
  }

  /** @throws UpstreamError where the card cannot be read or used */
  static async open(context: AdapterContext, config: A2aConfig): Promise<A2aSession> {
    return new A2aSession(context, config, await Agent.read(context, config));
  }

  introduction(): Introduction {
    return this.#agent.introduction();
  }

  /** Reads the card again. */
  async listTools(): Promise<ToolDefinition[]> {
    this.#agent = await Agent.read(this.#context, this.#config);
    return toolsOf(this.#agent);
  }

  async callTool(action: string, args: JsonObject, call: CallContext): Promise<Outcome> {
    call.signal.throwIfAborted();
    const agent = this.#agent;
    const assertion = await call.assertion?.(agent.spoken.url);
    const headers = assertion === undefined ? {} : { [ASSERTION_HEADER]: assertion };
    const turn = { agent, action, call, headers };
    const outcome = await (COMPANIONS.has(action) ? this.#task(turn, args) : this.#send(turn, args));
    return assertion === undefined ? outcome : without(outcome, assertion);
  }

  /** The card can be read, the transport answers, and the credential is taken. */
  async check(): Promise<Health> {
    const signal = AbortSignal.any([this.#context.signal, AbortSignal.timeout(CHECK_MS)]);
    try {
      const agent = await Agent.read(this.#context, this.#config);
      await agent.client.getTask({ id: NO_TASK, tenant: "", historyLength: 0 }, { signal });
      return { state: "healthy" };
    } catch (error) {
      const failure = failureOf(error);
      if (failure instanceof UpstreamRpcError) return { state: "healthy" };
      if (!(failure instanceof UpstreamError)) throw failure;
      return { state: "unhealthy", code: failure.code, message: failure.message };
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#later);
  }

  async #send(turn: Turn, args: JsonObject): Promise<Outcome> {
    const { agent, action, call } = turn;
    const skill = skillOf(agent, action);
    if (skill === undefined) {
      throw new UpstreamError("upstream_protocol", `The agent has no skill ${action} any more.`, { processed: "no" });
    }
    const answer = resumed(call);
    const taskHandle = answer?.task ?? textOf(args["task"]);
    const contextHandle = answer === undefined ? textOf(args["context"]) : undefined;
    const task = await found(call, "task", taskHandle);
    const conversation = await found(call, "context", contextHandle);
    if (task === null) return failed(`There is no task ${taskHandle} of yours here. Begin a new one without task.`);
    if (conversation === null) {
      return failed(`There is no conversation ${contextHandle} of yours here. Begin a new one without context.`);
    }
    const state = task && taskStateOf(task);
    const contextId = state?.contextId ?? textOf(conversation?.state["contextId"]);
    const continued: Continued = {
      ...(state === undefined ? {} : { taskId: state.taskId }),
      ...(contextId === undefined ? {} : { contextId }),
    };
    const heard = new Heard(state?.taskId, contextId);
    const following = this.#following(turn, heard, action);
    if (answer?.refused) {
      // Nothing is sent; how the task is said again, with how to go on.
      const declined = await this.#telling(turn, heard, action, false);
      const options = { signal: call.signal, serviceParameters: turn.headers };
      heard.task(await agent.client.getTask({ id: state?.taskId ?? "", tenant: "", historyLength: 0 }, options));
      return outcomeOf(declined, { kind: "over" });
    }
    let request: SendMessageRequest;
    try {
      const parts = answer?.text === undefined ? await partsOf(args, call) : [textPart(answer.text)];
      request = requestOf(parts, continued, skill?.id);
    } catch (error) {
      if (!(error instanceof NotSent)) throw error;
      return failed(`Not sent: ${error.message}`);
    }
    const ending = await follow(following, (options) => stream(agent, request, options));
    return outcomeOf(await this.#telling(turn, heard, action, true), ending);
  }

  async #task(turn: Turn, args: JsonObject): Promise<Outcome> {
    const handle = textOf(args["task"]);
    const kept = await found(turn.call, "task", handle);
    const state = kept && taskStateOf(kept);
    if (!kept || !state) return failed(`There is no task ${handle} of yours here.`);
    const heard = new Heard(state.taskId, state.contextId);
    const wait = typeof args["wait"] === "number" ? args["wait"] * 1000 : this.#config.waitMs;
    const { action } = state;
    // The state of a task says nothing about when the person may be asked: that is up to the tool that began it.
    return runTaskTool(turn.action, {
      kept,
      state,
      following: { ...this.#following(turn, heard, action), patienceMs: turn.action === TASK_STATUS ? 0 : wait },
      telling: (now) => this.#telling(turn, now, action, false),
    });
  }

  #following({ agent, call, headers }: Turn, heard: Heard, action: string | undefined): Following {
    const { waitMs, push } = this.#config;
    return {
      ...{ context: this.#context, agent, call, heard, push, headers },
      patienceMs: waitMs,
      keep: async () => keepTask(call, heard, action),
      later: (work) => {
        this.#later.add(work);
        work.finally(() => this.#later.delete(work));
      },
    };
  }

  async #telling({ call }: Turn, heard: Heard, action: string | undefined, ask: boolean): Promise<Telling> {
    const task = await keepTask(call, heard, action);
    const { contextId } = heard;
    const conversation =
      contextId === undefined
        ? undefined
        : await call.tasks?.keep({ kind: "context", identity: contextId, state: { contextId } });
    const handles = {
      ...(task === undefined ? {} : { task: task.handle }),
      ...(conversation === undefined ? {} : { context: conversation.handle }),
    };
    return { context: this.#context, call, heard, handles, action, ask };
  }
}

interface Turn {
  readonly agent: Agent;
  readonly action: string;
  readonly call: CallContext;
  readonly headers: Record<string, string>;
}

async function keepTask(call: CallContext, heard: Heard, action: string | undefined): Promise<KeptTask | undefined> {
  const { taskId, contextId } = heard;
  if (taskId === undefined) return undefined;
  const state = {
    taskId,
    ...(contextId === undefined ? {} : { contextId }),
    ...(action === undefined ? {} : { action }),
  };
  return call.tasks?.keep({ kind: "task", identity: taskId, state });
}

/** What a handle stands for; null where it stands for nothing of this caller's. */
async function found(call: CallContext, kind: KeptTask["kind"], handle: string | undefined) {
  if (handle === undefined) return undefined;
  return (await call.tasks?.find(kind, handle)) ?? null;
}

/** The caller's answer to a question of an agent's task. */
function resumed({ resume }: CallContext): { task: string; text?: string; refused: boolean } | undefined {
  if (resume?.requestState === undefined) return undefined;
  let state: unknown;
  try {
    state = JSON.parse(resume.requestState);
  } catch {
    return undefined;
  }
  const task = isObject(state) ? textOf(state["task"]) : undefined;
  if (task === undefined) return undefined;
  const response = resume.inputResponses?.[ANSWER];
  const content = isObject(response) && response["action"] === "accept" ? response["content"] : undefined;
  const text = isObject(content) ? textOf(content[ANSWER]) : undefined;
  return text === undefined ? { task, refused: true } : { task, text, refused: false };
}

/** A stream where the agent has one, else its one answer. */
async function* stream(
  agent: Agent,
  request: SendMessageRequest,
  options: RequestOptions,
): AsyncGenerator<StreamResponse> {
  if (agent.streams) {
    yield* agent.client.sendMessageStream(request, options);
    return;
  }
  const answer = await agent.client.sendMessage(request, options);
  if ("messageId" in answer) yield { payload: { $case: "message", value: answer } };
  else yield { payload: { $case: "task", value: answer } };
}

/** An agent may say again what it was told about the caller; that is for it alone. */
function without(outcome: Outcome, secret: string): Outcome {
  const text = JSON.stringify(outcome);
  if (!text.includes(secret)) return outcome;
  const clean: Outcome = JSON.parse(text.replaceAll(secret, "[secret]"));
  return clean;
}
