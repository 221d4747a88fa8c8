/** The adapter for Activepieces pieces: npm packages whose code runs in the sandbox only. */
import type { Adapter } from "../contract.ts";
import { coerced, withDefaults } from "./arguments.ts";
import { configSchema } from "./config.ts";
import { openPiece } from "./session.ts";

export const piecesAdapter: Adapter = {
  type: "ap",
  configSchema,

  coerce: (tool, args) => coerced(tool.inputSchema, args),

  /** Fills in the defaults of the action, so that guards and approval see them. */
  prepare: (tool, args) => ({ args: withDefaults(tool.inputSchema, coerced(tool.inputSchema, args)) }),

  async open(context) {
    context.signal.throwIfAborted();
    return openPiece(context);
  },
};
