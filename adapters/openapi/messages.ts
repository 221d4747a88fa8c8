/** What the worker that reads documents and its parent say to each other. */
import type { ToolDefinition } from "../contract.ts";
import type { SchemePlan } from "../http-request/plan.ts";
import type { SignInPlaces } from "./sign-in.ts";
import type { ConvertOptions } from "./tool.ts";

export interface ReadRequest {
  kind: "read";
  id: number;
  bytes: Uint8Array;
  options: ConvertOptions;
  /** Origins that operations may be sent to; absent: any. */
  origins?: string[];
}

/** `taken`: a batch of tools has arrived, the next may come. */
export type ToWorker = ReadRequest | { kind: "taken" };

export interface SkippedOperation {
  method: string;
  path: string;
  reason: string;
}

/** Everything but the tools, which come in batches before it. */
export interface ReadSummary {
  title: string;
  description: string;
  /** Packed plans. */
  plans: string;
  /** Packed input schemas of the operations whose own was cut. */
  wholes: string;
  schemes: Record<string, SchemePlan>;
  signIn: SignInPlaces;
  /** Every origin that an operation is sent to, sorted. */
  origins: string[];
  operations: { method: string; path: string; action: string; operationId?: string }[];
  skipped: SkippedOperation[];
  warnings: string[];
}

export type ReadAnswer =
  | { id: number; kind: "tools"; tools: ToolDefinition[] }
  | { id: number; kind: "done"; summary: ReadSummary }
  | { id: number; kind: "failed"; message: string };
