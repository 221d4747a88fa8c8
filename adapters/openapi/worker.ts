/** Entry of the worker thread: reads one document after the other. It has no way out to the network or to files. */
import { parentPort } from "node:worker_threads";
import type { JsonObject, ToolDefinition } from "../contract.ts";
import type { OperationPlan } from "../http-request/plan.ts";
import { DocumentError, parseDocument } from "./document.ts";
import type { ReadAnswer, ReadRequest, ReadSummary, SkippedOperation, ToWorker } from "./messages.ts";
import { convertDocument } from "./operations.ts";
import { pack } from "./packed.ts";

/** Tools in one message: the parent takes them one message at a time, and turns to other work in between. */
const BATCH = 50;
/** Characters of schemas that are kept beside their cut ones; about a tenth of it once packed. */
const MAX_WHOLES = 24 * 1024 * 1024;

let taken: (() => void) | undefined;

parentPort?.on("message", async (request: ToWorker) => {
  if (request.kind === "taken") {
    taken?.();
    return;
  }
  const answer = (message: ReadAnswer) => parentPort?.postMessage(message);
  try {
    answer({ id: request.id, kind: "done", summary: await read(request, answer) });
  } catch (error) {
    const message =
      error instanceof DocumentError ? error.message : `The document cannot be read: ${String(error).slice(0, 300)}`;
    answer({ id: request.id, kind: "failed", message });
  }
});

async function read(
  { id, bytes, options, origins }: ReadRequest,
  answer: (message: ReadAnswer) => void,
): Promise<ReadSummary> {
  const document = convertDocument(await parseDocument(bytes), options);
  const plans: [string, OperationPlan][] = [];
  const wholes: [string, JsonObject][] = [];
  let wholeBytes = 0;
  const skipped: SkippedOperation[] = [];
  const found = new Set<string>();
  const operations: ReadSummary["operations"] = [];
  let batch: ToolDefinition[] = [];
  for (const converted of document.operations) {
    if (converted.kind === "skipped") {
      const { method, path, reason } = converted;
      skipped.push({ method, path, reason });
      continue;
    }
    const { tool, plan, operationId, whole } = converted;
    const origin = URL.canParse(plan.server) ? new URL(plan.server).origin : undefined;
    if (origin !== undefined && origins !== undefined && !origins.includes(origin)) {
      const reason = `its server ${origin} is not one that the connection was set up with; set baseUrl to use it`;
      skipped.push({ method: plan.method, path: plan.path, reason });
      continue;
    }
    if (origin !== undefined) found.add(origin);
    plans.push([tool.name, plan]);
    if (whole !== undefined && wholeBytes < MAX_WHOLES) {
      wholes.push([tool.name, whole]);
      wholeBytes += JSON.stringify(whole).length;
    }
    const { method, path } = plan;
    operations.push({ method, path, action: tool.name, ...(operationId === undefined ? {} : { operationId }) });
    batch.push(tool);
    if (batch.length < BATCH) continue;
    const received = new Promise<void>((resolve) => {
      taken = resolve;
    });
    answer({ id, kind: "tools", tools: batch });
    batch = [];
    await received;
  }
  answer({ id, kind: "tools", tools: batch });
  const { title, description, schemes, signIn } = document;
  const summary = { title, description, schemes, signIn, operations, skipped, warnings: document.warnings() };
  return { ...summary, plans: pack(plans), wholes: pack(wholes), origins: [...found].sort() };
}
