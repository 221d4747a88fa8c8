/** The adapter for OpenAPI services: 2.0, 3.0, 3.1 and 3.2, in JSON and YAML. */
import type { Adapter, AdapterContext, AdapterSession } from "../contract.ts";
import { present } from "../http-request/arguments.ts";
import { failureOf } from "../http-request/call.ts";
import { configSchema, readConfig } from "./config.ts";
import { OpenApiSession } from "./session.ts";

export const openapiAdapter: Adapter = {
  type: "openapi",
  configSchema,

  /**
   * Arguments have the names of the wire (the gateway undoes what it renamed for hosts). Null is an absent parameter,
   * so nobody has to judge one that is never sent; a body may be null.
   */
  prepare: (_tool, args) => ({ args: present(args) }),

  /** Throws `UpstreamError`. */
  async open(context: AdapterContext): Promise<AdapterSession> {
    try {
      context.signal.throwIfAborted();
      return await OpenApiSession.open(context, readConfig(context.config));
    } catch (error) {
      throw failureOf(error);
    }
  },
};
