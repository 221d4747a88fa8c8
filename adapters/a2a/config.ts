/** The adapter's own keys of a connection. */
import type { JsonObject } from "../contract.ts";

/** Seconds that a call waits for a task before it answers with the task's handle: clients give silence up at 60. */
const WAIT_SECONDS = 50;
const WELL_KNOWN = "/.well-known/";
const CARD_PATH = ".well-known/agent-card.json";

export interface A2aConfig {
  /** Where the card is. */
  readonly card: URL;
  /** Everything is sent to this origin only. */
  readonly home: URL;
  /** The administrator's word about where the agent is; it stands above the card's. */
  readonly url: URL | undefined;
  readonly transport: "jsonrpc" | "rest" | undefined;
  readonly waitMs: number;
  /** Whether the agent may call back. */
  readonly push: boolean;
}

export const configSchema: JsonObject = {
  type: "object",
  required: ["card"],
  properties: {
    card: {
      type: "string",
      format: "uri",
      title: "Agent card",
      description: "URL of the card. One that ends in / is the agent's, and the card is at its well-known path.",
    },
    url: {
      type: "string",
      format: "uri",
      title: "Agent",
      description: "Where the agent is, if that is not the origin of its card or the card does not say it right.",
    },
    transport: {
      enum: ["jsonrpc", "rest"],
      title: "Transport",
      description: "Which of the card's transports is used. Default: the first that we speak.",
    },
    wait: {
      type: "integer",
      minimum: 1,
      maximum: 600,
      title: "Patience",
      description: `Seconds that a call waits for a task before it answers with a handle. Default: ${WAIT_SECONDS}.`,
    },
    push: {
      enum: ["on", "off"],
      title: "Call back",
      description: "Whether the agent may tell this server that a task went on. Default: on.",
    },
    assertion: {
      enum: ["on", "off"],
      title: "Say who calls",
      description: "Whether the agent gets a signed statement about the caller. Default: off.",
    },
  },
};

/** Reads a configuration that `configSchema` has accepted. @throws TypeError on anything else */
export function readConfig(config: JsonObject): A2aConfig {
  const { card, url, transport, wait, push } = config;
  if (typeof card !== "string" || !URL.canParse(card)) throw new TypeError("an a2a connection needs a card");
  const given = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  const cardUrl = new URL(card);
  return {
    card: cardUrl.pathname.endsWith("/") ? new URL(CARD_PATH, cardUrl) : cardUrl,
    home: given ?? homeOf(cardUrl),
    url: given,
    transport: transport === "jsonrpc" || transport === "rest" ? transport : undefined,
    waitMs: (typeof wait === "number" ? wait : WAIT_SECONDS) * 1000,
    push: push !== "off",
  };
}

function homeOf(card: URL): URL {
  const [base] = card.pathname.split(WELL_KNOWN);
  return new URL(card.pathname.includes(WELL_KNOWN) ? `${base}/` : "/", card.origin);
}
