/** The adapter for OpenAPI services: 2.0, 3.0, 3.1 and 3.2, in JSON and YAML. */
import type { Adapter, AdapterContext, AdapterSession } from "../contract.ts";
import { present } from "../http-request/arguments.ts";
import { failureOf } from "../http-request/call.ts";
import { configSchema, readConfig } from "./config.ts";
import { readDocument } from "./reader.ts";
import { OpenApiSession } from "./session.ts";
import { documentBytes } from "./source.ts";

/** What says how operations become tools, where only the document's own words are wanted. */
const NOTHING_ELSE = {
  overrides: { read: [], write: [] },
  deprecated: "hide" as const,
  names: [] as [string, string][],
};

export const openapiAdapter: Adapter = {
  type: "openapi",
  configSchema,

  /**
   * Arguments have the names of the wire (the gateway undoes what it renamed for hosts). Null is an absent parameter,
   * so nobody has to judge one that is never sent; a body may be null.
   */
  prepare: (_tool, args) => ({ args: present(args) }),

  /** From the document, which is read anew: signing in is rare, and it may say something else by now. */
  async signInPlace(wants, context) {
    const { source, baseUrl, variables } = readConfig(context.config);
    try {
      const bytes = await documentBytes(context, source);
      const specUrl = source.kind === "url" ? { specUrl: source.url } : {};
      const options = { ...specUrl, ...(baseUrl === undefined ? {} : { baseUrl }), variables, ...NOTHING_ELSE };
      return (await readDocument({ bytes, options })).signIn[wants];
    } catch (error) {
      throw failureOf(error);
    }
  },

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
