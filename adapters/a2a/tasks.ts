/** The tools that go with tasks: what becomes of one that outlived its call. */

import type { CallContext, JsonObject, KeptTask, Outcome } from "../contract.ts";
import { UpstreamRpcError } from "../contract.ts";
import { textOf } from "../http-request/json.ts";
import { failureOf, isTaskGone, TASK_NOT_CANCELABLE } from "./failures.ts";
import { type Following, follow } from "./follow.ts";
import { type Heard, wordsOf } from "./heard.ts";
import { textBlock } from "./parts.ts";
import { outcomeOf, type Telling } from "./result.ts";
import { TASK_CANCEL, TASK_STATUS } from "./tools.ts";

/** What is kept of a task. */
export interface TaskState {
  readonly taskId: string;
  readonly contextId: string | undefined;
  /** The tool that it began with. */
  readonly action: string | undefined;
}

/** Reads what was kept; undefined where it is none of ours. */
export function taskStateOf({ state }: KeptTask): TaskState | undefined {
  const taskId = textOf(state["taskId"]);
  if (taskId === undefined) return undefined;
  return { taskId, contextId: textOf(state["contextId"]), action: textOf(state["action"]) };
}

export interface TaskCall {
  readonly kept: KeptTask;
  readonly state: TaskState;
  readonly following: Following;
  readonly telling: (heard: Heard) => Promise<Telling>;
}

/** Runs `task_status`, `task_result` or `task_cancel` for a task that was found. */
export async function runTaskTool(action: string, { state, following, telling }: TaskCall): Promise<Outcome> {
  const { heard } = following;
  try {
    if (action === TASK_CANCEL) return await cancel(state, following, telling);
    if (action === TASK_STATUS) return await status(state, following, telling);
    return await outcomeOf(await telling(heard), await follow(following));
  } catch (error) {
    const failure = failureOf(error);
    if (!isTaskGone(failure)) throw failure;
    return failed("The agent does not know this task any more.");
  }
}

/** One look, without waiting. */
async function status(
  state: TaskState,
  { agent, heard, call, headers }: Following,
  telling: TaskCall["telling"],
): Promise<Outcome> {
  const options = { signal: signalOf(call), serviceParameters: headers };
  heard.task(await agent.client.getTask({ id: state.taskId, tenant: "", historyLength: 0 }, options));
  if (heard.over) return outcomeOf({ ...(await telling(heard)), ask: false }, { kind: "over" });
  return outcomeOf(await telling(heard), { kind: "patience" });
}

async function cancel(
  state: TaskState,
  { agent, heard, call, headers }: Following,
  telling: TaskCall["telling"],
): Promise<Outcome> {
  const options = { signal: signalOf(call), serviceParameters: headers };
  try {
    heard.task(await agent.client.cancelTask({ id: state.taskId, tenant: "", metadata: undefined }, options));
  } catch (error) {
    const failure = failureOf(error);
    if (!(failure instanceof UpstreamRpcError) || failure.rpcCode !== TASK_NOT_CANCELABLE) throw failure;
    return failed(`The task cannot be canceled: ${failure.message}`);
  }
  if (heard.state !== "canceled") return outcomeOf({ ...(await telling(heard)), ask: false }, { kind: "over" });
  const words = wordsOf(heard.statusParts);
  const text = words === "" ? "The task is canceled." : `The task is canceled: ${words}`;
  return { kind: "result", result: { content: [textBlock(text)], structuredContent: { state: heard.state } } };
}

function signalOf(call: CallContext): AbortSignal {
  return AbortSignal.any([call.signal, AbortSignal.timeout(Math.min(call.timeoutMs, call.maxTimeoutMs))]);
}

/** A call that could not be made, in words. */
export function failed(text: string, more: JsonObject = {}): Outcome {
  return { kind: "result", result: { content: [textBlock(text)], isError: true, ...more } };
}
