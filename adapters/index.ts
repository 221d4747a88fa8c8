/** The explicit list of adapters. */
import type { Adapter } from "./contract.ts";
import { httpAdapter } from "./http/index.ts";
import { mcpAdapter } from "./mcp/index.ts";
import { openapiAdapter } from "./openapi/index.ts";

const ADAPTERS: readonly Adapter[] = [mcpAdapter, openapiAdapter, httpAdapter];

/** The adapter of a connection's `type`; undefined for one this version has none for. */
export function adapterFor(type: string): Adapter | undefined {
  return ADAPTERS.find((adapter) => adapter.type === type);
}
