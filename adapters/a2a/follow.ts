/**
 * Follows a task until it rests, the caller's patience ends, or the agent cannot be heard any more.
 *
 * A stream is listened to where the agent offers one; where it breaks off it is taken up again, with a look at the
 * whole task first, because what was said in between is lost. Else the task is asked for: often at first, then ever
 * more rarely, and at once when the agent calls back.
 */
import type { StreamResponse } from "@a2a-js/sdk";
import type { RequestOptions } from "@a2a-js/sdk/client";
import { type AdapterContext, type CallContext, type KeptTask, UpstreamError } from "../contract.ts";
import { startDeadline } from "../mcp/deadline.ts";
import type { Agent } from "./agent.ts";
import { failureOf, isTaskGone } from "./failures.ts";
import type { Heard } from "./heard.ts";

const FIRST_POLL_MS = 250;
const POLL_GROWS = 1.6;
const LAST_POLL_MS = 10_000;
/** The same where the agent promised to call back. */
const LAST_POLL_PUSHED_MS = 30_000;
const RESUBSCRIBES = 3;
/** Answers in a row that did not come before the agent is given up. */
const MAX_FAILURES = 4;
const CANCEL_MS = 10_000;
const MAX_TIMER = 0x7fffffff;

export interface Following {
  readonly context: AdapterContext;
  readonly agent: Agent;
  readonly call: CallContext;
  readonly heard: Heard;
  /** Milliseconds until the caller gets the task's handle instead of its result. */
  readonly patienceMs: number;
  /** Whether the agent may call back. */
  readonly push: boolean;
  /** Headers of this call's requests. */
  readonly headers: Record<string, string>;
  /** Keeps the task for the caller; called once its id is known. */
  readonly keep: () => Promise<KeptTask | undefined>;
  /** Work that goes on after the call: it ends with the session. */
  readonly later: (work: Promise<unknown>) => void;
}

/** `patience`: the task goes on without us. `cut`: the agent was not heard any more; the task may go on. */
export type Ending = { kind: "over" } | { kind: "patience" } | { kind: "cut"; error: Error };

/**
 * @param begin sends the message; absent: the task is there already
 * @throws the caller's own reason where it cancelled; UpstreamError or UpstreamRpcError where there is no task to go
 *   on with
 */
export async function follow(
  following: Following,
  begin?: (options: RequestOptions) => AsyncIterable<StreamResponse>,
): Promise<Ending> {
  const { context, call, heard, patienceMs } = following;
  const deadline = startDeadline(call);
  const stop = new AbortController();
  const endOfSession = () => stop.abort(context.signal.reason);
  context.signal.addEventListener("abort", endOfSession, { once: true });
  if (context.signal.aborted) endOfSession();
  let impatient = false;
  const patience = setTimeout(
    () => {
      impatient = true;
      if (heard.taskId !== undefined) stop.abort();
    },
    Math.min(patienceMs, call.maxTimeoutMs, MAX_TIMER),
  );
  const options = {
    signal: AbortSignal.any([deadline.signal, stop.signal]),
    serviceParameters: following.headers,
  };
  const told = new Told(call);
  let kept: KeptTask | undefined;
  let unsure = false;
  const took = async (words: string | undefined) => {
    deadline.touch();
    told.tell(words);
    if (heard.taskId === undefined) return;
    kept ??= await following.keep();
    if (impatient && !heard.over) stop.abort();
  };
  try {
    if (heard.taskId !== undefined) kept = await following.keep();
    if (begin !== undefined) await listen(begin(options), heard, took, options.signal);
    if (!heard.over && heard.taskId === undefined) {
      throw new UpstreamError("upstream_protocol", "The agent ended its answer without saying anything.");
    }
    if (!heard.over) await stay(following, options, took, () => kept);
    if (following.agent.losesPieces && heard.artifacts.length > 0) {
      unsure = true;
      heard.task(await following.agent.client.getTask(taskRequest(heard), options));
    }
    return { kind: "over" };
  } catch (error) {
    if (heard.over && !unsure) return { kind: "over" };
    const reason = deadline.reason();
    if (reason !== undefined && !(reason instanceof UpstreamError)) {
      if (heard.taskId !== undefined) following.later(cancelQuietly(following, heard.taskId));
      throw reason;
    }
    if (context.signal.aborted && heard.taskId === undefined) throw closing();
    const failure = reason ?? failureOf(error);
    if (heard.taskId === undefined) throw failure;
    if (impatient || reason !== undefined) return { kind: "patience" };
    // Of a message that was sent, the agent may have done something all the same.
    if (begin === undefined && isTaskGone(failure)) throw failure;
    return { kind: "cut", error: failure instanceof Error ? failure : new Error(String(failure)) };
  } finally {
    clearTimeout(patience);
    context.signal.removeEventListener("abort", endOfSession);
    // Ends whatever is still being read.
    stop.abort();
    deadline.end();
  }
}

/** What is wrong now is wrong when asked again. */
function isFinal(failure: unknown): boolean {
  return isTaskGone(failure) || (failure instanceof UpstreamError && failure.code === "upstream_protocol");
}

function taskRequest({ taskId = "" }: Heard) {
  return { id: taskId, tenant: "", historyLength: undefined };
}

type Took = (words: string | undefined) => Promise<void>;

/** Hears a stream to its end, or to the end of the task. One that breaks off in the middle of a task is over too. */
async function listen(
  stream: AsyncIterable<StreamResponse>,
  heard: Heard,
  took: Took,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const event of stream) {
      await took(heard.take(event));
      if (heard.over) return;
    }
  } catch (error) {
    if (signal.aborted || heard.taskId === undefined) throw error;
    // What is too large now is too large again; everything else may be heard of in another way.
    if (error instanceof UpstreamError && error.code === "upstream_protocol") throw error;
  }
}

function closing(): UpstreamError {
  return new UpstreamError("upstream_unreachable", "The connection to the agent was closed during the call.");
}

/** Stays with a task that is under way. */
async function stay(
  following: Following,
  options: RequestOptions & { signal: AbortSignal },
  took: Took,
  kept: () => KeptTask | undefined,
): Promise<void> {
  const { agent, heard, call, context } = following;
  const { client } = agent;
  let failures = 0;
  const look = async () => {
    try {
      await took(heard.task(await client.getTask(taskRequest(heard), options)));
      failures = 0;
    } catch (error) {
      failures += 1;
      const failure = failureOf(error);
      if (options.signal.aborted || failures >= MAX_FAILURES || isFinal(failure)) throw failure;
      context.log.debug({ reason: String(error) }, "the agent did not say how its task is");
    }
  };
  for (let attempt = 0; attempt < RESUBSCRIBES && agent.streams && !heard.over; attempt++) {
    await look();
    if (heard.over) return;
    try {
      await listen(
        client.resubscribeTask({ id: heard.taskId ?? "", tenant: "" }, options),
        heard,
        took,
        options.signal,
      );
    } catch (error) {
      if (options.signal.aborted) throw error;
      break;
    }
  }
  const pushed = await askToCallBack(following, kept(), options);
  const last = pushed ? LAST_POLL_PUSHED_MS : LAST_POLL_MS;
  let pause = FIRST_POLL_MS;
  while (!heard.over) {
    await look();
    if (heard.over) return;
    const early = await rest(pause, options.signal, pushed ? { call, task: kept() } : undefined);
    pause = early ? FIRST_POLL_MS : Math.min(pause * POLL_GROWS, last);
    options.signal.throwIfAborted();
  }
}

/** Gives the agent our address, and a secret for this task; false where it does not take them. */
async function askToCallBack(
  { agent, call, context, heard, push }: Following,
  task: KeptTask | undefined,
  options: RequestOptions & { signal: AbortSignal },
): Promise<boolean> {
  if (!push || !agent.pushes || task === undefined || call.tasks === undefined || heard.over) return false;
  const { url, secret } = await call.tasks.callback(task);
  const config = {
    tenant: "",
    id: task.handle,
    taskId: heard.taskId ?? "",
    url,
    token: secret,
    authentication: { scheme: "Bearer", credentials: secret },
  };
  try {
    await agent.client.createTaskPushNotificationConfig(config, options);
    return true;
  } catch (error) {
    if (options.signal.aborted) throw error;
    context.log.info({ reason: String(error) }, "the agent does not call back; its task is asked for instead");
    return false;
  }
}

/** @returns whether the agent called back before the time was over */
async function rest(
  ms: number,
  signal: AbortSignal,
  pushed: { call: CallContext; task: KeptTask | undefined } | undefined,
): Promise<boolean> {
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  const time = new Promise<false>((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    either.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve(false);
    });
  });
  try {
    if (pushed?.task === undefined || pushed.call.tasks === undefined) return await time;
    const told = pushed.call.tasks.told(pushed.task, either).then(() => !either.aborted);
    return await Promise.race([time, told]);
  } finally {
    done.abort();
  }
}

async function cancelQuietly({ agent, context, headers }: Following, id: string): Promise<void> {
  try {
    const signal = AbortSignal.timeout(CANCEL_MS);
    await agent.client.cancelTask({ id, tenant: "", metadata: undefined }, { signal, serviceParameters: headers });
  } catch (error) {
    context.log.warn({ reason: String(error) }, "the task of a cancelled call could not be cancelled");
  }
}

/** Progress counts up by one with everything that the agent says. */
class Told {
  readonly #call: CallContext;
  #count = 0;
  constructor(call: CallContext) {
    this.#call = call;
  }
  tell(message: string | undefined): void {
    if (message === undefined) return;
    this.#count += 1;
    this.#call.progress?.({ progress: this.#count, message });
  }
}
