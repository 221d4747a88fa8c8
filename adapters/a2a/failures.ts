/** What went wrong with an agent, in the words of the contract. */
import { A2AError, isJsonRpcError } from "@a2a-js/sdk/errors";
import { UpstreamError, UpstreamRpcError } from "../contract.ts";
import { failureOf as networkOrCredential } from "../http-request/call.ts";
import { bounded } from "../mcp/failures.ts";
import { chain } from "../network.ts";

/** A2A 1.0, 5.4: the codes by the names that the SDK gives its errors; what it made of a REST answer has none. */
const CODES: Readonly<Record<string, number>> = {
  TaskNotFoundError: -32001,
  TaskNotCancelableError: -32002,
  PushNotificationNotSupportedError: -32003,
  UnsupportedOperationError: -32004,
  ContentTypeNotSupportedError: -32005,
  InvalidAgentResponseError: -32006,
  ExtendedAgentCardNotConfiguredError: -32007,
  ExtensionSupportRequiredError: -32008,
  VersionNotSupportedError: -32009,
  RequestMalformedError: -32602,
};
const INTERNAL = -32603;

/** The agent does not know the task. */
export const TASK_NOT_FOUND = -32001;
/** The task is over, or cannot be ended. */
export const TASK_NOT_CANCELABLE = -32002;

/** Errors of the contract, and those of our own credentials, pass as they are. */
export function failureOf(error: unknown): unknown {
  if (error instanceof UpstreamError || error instanceof UpstreamRpcError) return error;
  for (const link of chain(error)) {
    if (link instanceof UpstreamError) return link;
    if (link instanceof A2AError) {
      const code = isJsonRpcError(link) ? link.envelopeCode : (CODES[link.name] ?? INTERNAL);
      return new UpstreamRpcError(code, bounded(link.message));
    }
  }
  const told = networkOrCredential(error);
  if (!(told instanceof UpstreamError) || told.detail === undefined || told.code !== "upstream_protocol") return told;
  if (/exceeded the maximum allowed size/.test(told.detail)) {
    return new UpstreamError("upstream_protocol", "The agent's answer is larger than the proxy passes on.", {
      cause: error,
    });
  }
  return new UpstreamError("upstream_protocol", "The agent answered with something that is not A2A.", {
    detail: bounded(told.detail),
    cause: error,
  });
}

/** Whether the agent says that it does not know a task, or knows it no more. */
export function isTaskGone(error: unknown): boolean {
  return error instanceof UpstreamRpcError && error.rpcCode === TASK_NOT_FOUND;
}
