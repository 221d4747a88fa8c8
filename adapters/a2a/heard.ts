/** What an agent has said about one message so far: a message of its own, or a task and how far that is. */
import { type Artifact, type Message, type Part, Role, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import { UpstreamError } from "../contract.ts";
import { bounded } from "../mcp/failures.ts";

export type StateName =
  | "submitted"
  | "working"
  | "completed"
  | "failed"
  | "canceled"
  | "input-required"
  | "rejected"
  | "auth-required"
  | "unknown";

/** Bytes of everything that one call keeps of a task. */
const MAX_HEARD = 64 * 1024 * 1024;
const MAX_ARTIFACTS = 1000;
/** Ids of agents go back to them and are kept. */
const MAX_ID = 1024;

const NAMES: Readonly<Partial<Record<TaskState, StateName>>> = {
  [TaskState.TASK_STATE_SUBMITTED]: "submitted",
  [TaskState.TASK_STATE_WORKING]: "working",
  [TaskState.TASK_STATE_COMPLETED]: "completed",
  [TaskState.TASK_STATE_FAILED]: "failed",
  [TaskState.TASK_STATE_CANCELED]: "canceled",
  [TaskState.TASK_STATE_INPUT_REQUIRED]: "input-required",
  [TaskState.TASK_STATE_REJECTED]: "rejected",
  [TaskState.TASK_STATE_AUTH_REQUIRED]: "auth-required",
};
/** The agent does nothing more until somebody else does. */
const RESTING: ReadonlySet<StateName> = new Set([
  ...(["completed", "failed", "canceled", "rejected"] as const),
  ...(["input-required", "auth-required"] as const),
]);

export class Heard {
  #taskId: string | undefined;
  #contextId: string | undefined;
  #state: StateName = "unknown";
  #status: Message | undefined;
  #history: Message | undefined;
  #answer: Message | undefined;
  readonly #artifacts = new Map<string, Artifact>();
  #bytes = 0;

  /** @param taskId of a task that is known already */
  constructor(taskId?: string, contextId?: string) {
    this.#taskId = taskId;
    this.#contextId = contextId;
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }
  get contextId(): string | undefined {
    return this.#contextId;
  }
  get state(): StateName {
    return this.#state;
  }
  /** A message instead of a task. */
  get answer(): Message | undefined {
    return this.#answer;
  }
  /** What the agent says about the state. */
  get statusParts(): readonly Part[] {
    return this.#status?.parts ?? [];
  }
  /** The last message of the agent in the task's history, for agents that answer there. */
  get lastWords(): readonly Part[] {
    return this.#history?.parts ?? [];
  }
  get artifacts(): readonly Artifact[] {
    return [...this.#artifacts.values()];
  }
  /** Nothing more comes by itself: there is an answer, or the task rests. */
  get over(): boolean {
    return this.#answer !== undefined || RESTING.has(this.#state);
  }

  /**
   * Takes an event of a stream. What comes after the end, or is about another task, is not taken.
   * @returns what is new in words; undefined where there is nothing to tell
   */
  take({ payload }: StreamResponse): string | undefined {
    if (this.over || payload === undefined) return undefined;
    switch (payload.$case) {
      case "message":
        return this.message(payload.value);
      case "task":
        return this.task(payload.value);
      case "statusUpdate": {
        const { taskId, contextId, status } = payload.value;
        if (!this.#isMine(taskId, contextId)) return undefined;
        return this.#statusOf(status);
      }
      case "artifactUpdate": {
        const { taskId, contextId, artifact, append } = payload.value;
        if (!this.#isMine(taskId, contextId) || artifact === undefined) return undefined;
        this.#artifact(artifact, append);
        return artifact.name === "" ? "A part of the result has arrived" : `Arrived: ${bounded(artifact.name)}`;
      }
    }
  }

  message(message: Message): string | undefined {
    this.#charge(message.parts);
    this.#contextId ??= idOf(message.contextId);
    this.#answer = message;
    return undefined;
  }

  /** The whole task as it is now, in place of what was heard of it. */
  task(task: Task): string | undefined {
    if (!this.#isMine(task.id, task.contextId)) return undefined;
    if (task.artifacts.length > 0) {
      this.#artifacts.clear();
      this.#bytes = 0;
      for (const artifact of task.artifacts) this.#artifact(artifact, false);
    }
    // The history is only looked at where it is all there is.
    this.#history = task.history.findLast((message) => message.role === Role.ROLE_AGENT) ?? this.#history;
    return this.#statusOf(task.status);
  }

  #statusOf(status: Task["status"]): string | undefined {
    if (status === undefined) return undefined;
    const state = NAMES[status.state] ?? "unknown";
    const isNew = state !== this.#state;
    this.#state = state;
    if (status.message !== undefined) {
      this.#charge(status.message.parts);
      this.#status = status.message;
      const words = wordsOf(status.message.parts);
      if (words !== "") return bounded(words);
    } else if (isNew) this.#status = undefined;
    return isNew ? `The task is ${state}` : undefined;
  }

  #artifact(artifact: Artifact, append: boolean): void {
    this.#charge(artifact.parts);
    const known = this.#artifacts.get(artifact.artifactId);
    if (append && known !== undefined) known.parts.push(...artifact.parts);
    else this.#artifacts.set(artifact.artifactId, { ...artifact, parts: [...artifact.parts] });
    if (this.#artifacts.size > MAX_ARTIFACTS) throw tooLarge(`more than ${MAX_ARTIFACTS} artifacts`);
  }

  #isMine(taskId: string, contextId: string): boolean {
    const id = idOf(taskId);
    if (id === undefined) throw new UpstreamError("upstream_protocol", "The agent's task has no usable id.");
    this.#taskId ??= id;
    if (id !== this.#taskId) return false;
    this.#contextId ??= idOf(contextId);
    return true;
  }

  #charge(parts: readonly Part[]): void {
    for (const part of parts) this.#bytes += sizeOf(part);
    if (this.#bytes > MAX_HEARD) throw tooLarge(`more than ${MAX_HEARD} bytes`);
  }
}

/** The text of parts, for a line. */
export function wordsOf(parts: readonly Part[]): string {
  return parts
    .map(({ content }) => (content?.$case === "text" ? content.value : ""))
    .join(" ")
    .trim();
}

function sizeOf({ content }: Part): number {
  // Every part costs something, however little is in it.
  const own = 64;
  switch (content?.$case) {
    case "raw":
      return own + content.value.length;
    case "data":
      return own + (JSON.stringify(content.value)?.length ?? 0);
    case "text":
    case "url":
      return own + content.value.length;
    default:
      return own;
  }
}

function idOf(id: string): string | undefined {
  return id === "" || id.length > MAX_ID ? undefined : id;
}

function tooLarge(what: string): UpstreamError {
  return new UpstreamError("upstream_protocol", `The agent's answer is larger than the proxy passes on: ${what}.`);
}
