/** The adapter for A2A agents. */
import type { Adapter, AdapterContext, AdapterSession } from "../contract.ts";
import { present } from "../http-request/arguments.ts";
import { fetchCard } from "./card.ts";
import { configSchema, readConfig } from "./config.ts";
import { failureOf } from "./failures.ts";
import { A2aSession } from "./session.ts";
import { signInPlaceOf } from "./sign-in.ts";

export const a2aAdapter: Adapter = {
  type: "a2a",
  configSchema,

  /** Null is absent. */
  prepare: (_tool, args) => ({ args: present(args, "") }),

  async open(context: AdapterContext): Promise<AdapterSession> {
    context.signal.throwIfAborted();
    return A2aSession.open(context, readConfig(context.config));
  },

  async signInPlace(wants, { config, fetch, hop, signal }) {
    const plain: typeof fetch = (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set(hop.header, hop.value);
      return fetch(input, { ...init, headers });
    };
    try {
      const { shaped } = await fetchCard(plain, readConfig(config), signal);
      return signInPlaceOf(shaped, wants);
    } catch (error) {
      throw failureOf(error);
    }
  },
};
