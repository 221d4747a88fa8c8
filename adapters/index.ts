/** The explicit list of adapters. */
import { a2aAdapter } from "./a2a/index.ts";
import type { Adapter } from "./contract.ts";
import { httpAdapter } from "./http/index.ts";
import { mcpAdapter } from "./mcp/index.ts";
import { openapiAdapter } from "./openapi/index.ts";
import { piecesAdapter } from "./pieces/index.ts";

const ADAPTERS: readonly Adapter[] = [mcpAdapter, openapiAdapter, httpAdapter, a2aAdapter, piecesAdapter];

/** The adapter of a connection's `type`; undefined for one this version has none for. */
export function adapterFor(type: string): Adapter | undefined {
  return ADAPTERS.find((adapter) => adapter.type === type);
}
