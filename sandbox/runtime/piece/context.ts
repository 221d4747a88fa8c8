/**
 * The `context` that an action gets. What a tool can have is real; what only a flow has throws one clear error, so
 * that nothing seems to have happened that did not.
 */
import type { WrittenFiles } from "./files.ts";

/** Code of what needs a flow; the worker tells it as `unsupported_in_tool`. */
export const UNSUPPORTED = "UNSUPPORTED_IN_TOOL";

const unsupported = (what: string) => (): never => {
  throw Object.assign(new Error(`context.${what} needs a flow; this action cannot run as a tool`), {
    code: UNSUPPORTED,
  });
};

/** What the options of props, and actions, find in their context alike. */
export function sharedContext(): object {
  return {
    server: { apiUrl: "", publicUrl: "", token: "" },
    project: { id: "project", externalId: async () => undefined },
    // Another connection's credential is never this piece's.
    connections: { get: async () => null },
    flows: { list: unsupported("flows.list"), current: { id: "flow", version: { id: "version" } } },
    step: { name: "step" },
  };
}

export interface ActionContext {
  readonly context: object;
  /** What the action gave to `run.stop` or `run.respond`. */
  stopped(): unknown;
}

export function actionContext(auth: unknown, propsValue: unknown, files: WrittenFiles): ActionContext {
  let stopped: unknown;
  const stop = (answer: unknown): void => {
    stopped = answer ?? null;
  };
  const context = {
    ...sharedContext(),
    auth,
    propsValue,
    executionType: "BEGIN",
    payload: {},
    resumePayload: {},
    serverUrl: "",
    store: { get: unsupported("store.get"), put: unsupported("store.put"), delete: unsupported("store.delete") },
    files: {
      write: async ({ fileName, data }: { fileName: string; data: unknown }) => files.add(fileName, data),
    },
    tags: { add: async () => undefined },
    output: { update: async () => undefined },
    agent: { tools: unsupported("agent.tools") },
    generateResumeUrl: unsupported("generateResumeUrl"),
    run: {
      id: "run",
      isTest: false,
      stop,
      respond: stop,
      pause: unsupported("run.pause"),
      createWaitpoint: unsupported("run.createWaitpoint"),
      waitForWaitpoint: unsupported("run.waitForWaitpoint"),
    },
  };
  return { context, stopped: () => stopped };
}
