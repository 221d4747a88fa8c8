/** Reads an agent card of either version, and picks how the agent is spoken to. */
import { AgentCard, type AgentInterface } from "@a2a-js/sdk";
import { type JsonObject, UpstreamError } from "../contract.ts";
import { arrayOf, isObject } from "../http-request/json.ts";
import { bounded, statusFailure, wordsOf } from "../mcp/failures.ts";
import { modernShape } from "./card-shape.ts";
import type { A2aConfig } from "./config.ts";

const MAX_CARD = 1024 * 1024;
const MAX_SKILLS = 500;
const MAX_ID = 200;
/** What a card is asked with: an agent that speaks both versions answers in the newer one. */
const HEADERS = { accept: "application/json", "a2a-version": "1.0" };

export const BINDINGS = { JSONRPC: "jsonrpc", "HTTP+JSON": "rest" } as const;

export interface ReadCard {
  /** As it came. */
  readonly raw: JsonObject;
  /** The same in the JSON of version 1.0. */
  readonly shaped: JsonObject;
  /** As the SDK holds it. */
  readonly card: AgentCard;
}

/**
 * Fetches the card. It needs no credential as a rule; one goes along where the agent asks for it.
 * @param fetch of the agent: it sends the credential where it is asked to
 * @throws UpstreamError where there is none that can be read
 */
export async function fetchCard(fetch: typeof globalThis.fetch, config: A2aConfig, signal: AbortSignal) {
  const response = await fetch(config.card, { headers: HEADERS, signal });
  const text = await response.text();
  if (!response.ok) throw statusFailure(response.status, wordsOf(text));
  if (Buffer.byteLength(text) > MAX_CARD) throw unusable("is larger than 1 MiB");
  return readCard(text);
}

/** @throws UpstreamError `upstream_protocol` for anything that is no agent card */
export function readCard(text: string): ReadCard {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    throw unusable("is not JSON");
  }
  if (!isObject(raw)) throw unusable("is not a JSON object");
  const shaped = shapeOf(raw);
  const card = AgentCard.fromJSON(shaped);
  if (card.name.trim() === "") throw unusable("has no name");
  if (card.skills.length > MAX_SKILLS) throw unusable(`has more than ${MAX_SKILLS} skills`);
  for (const { id } of card.skills) {
    if (id === "" || id.length > MAX_ID) throw unusable("has a skill without a usable id");
  }
  return { raw, shaped, card };
}

function shapeOf(raw: JsonObject): JsonObject {
  try {
    const shaped = modernShape(raw);
    if (arrayOf(shaped["supportedInterfaces"]).length > 0) return shaped;
  } catch (error) {
    if (error instanceof RangeError) throw unusable("is nested too deeply");
    throw error;
  }
  throw unusable("names no address of the agent");
}

/**
 * The first interface of the card that this server speaks and that is where the agent is expected.
 * @throws UpstreamError with what the card offers instead
 */
export function chooseInterface(card: AgentCard, config: A2aConfig): AgentInterface {
  const spoken = card.supportedInterfaces.filter((offered) => bindingOf(offered) && versionOf(offered));
  const wanted = spoken.filter((offered) => config.transport === undefined || bindingOf(offered) === config.transport);
  const here = wanted.find(({ url }) => URL.canParse(url) && new URL(url).origin === config.home.origin);
  if (here !== undefined) return here;
  const [first] = wanted;
  if (first === undefined) throw unusable(`offers ${offerOf(card)}; this server speaks ${spokenHere(config)}`);
  // The administrator's word is enough where the card gives another address, e.g. one from inside its own network.
  if (config.url !== undefined) return { ...first, url: config.url.href };
  const address = URL.canParse(first.url) ? new URL(first.url).origin : bounded(first.url).slice(0, 100);
  throw new UpstreamError(
    "upstream_protocol",
    `The agent card leads to ${address}, not to ${config.home.origin} where it comes from. If that is right, an administrator writes it as url: of the connection.`,
    { processed: "no" },
  );
}

export function bindingOf({ protocolBinding }: AgentInterface): "jsonrpc" | "rest" | undefined {
  const name = protocolBinding.toUpperCase();
  return name === "JSONRPC" || name === "HTTP+JSON" ? BINDINGS[name] : undefined;
}

/** The version an interface is spoken with; a card of 1.0 may leave it out. */
export function versionOf({ protocolVersion }: AgentInterface): "1.0" | "0.3" | undefined {
  if (protocolVersion === "" || /^1(\.|$)/.test(protocolVersion)) return "1.0";
  return /^0\.3(\.|$)/.test(protocolVersion) ? "0.3" : undefined;
}

function offerOf(card: AgentCard): string {
  const offers = card.supportedInterfaces
    .slice(0, 5)
    .map(({ protocolBinding, protocolVersion }) => bounded(`${protocolBinding} ${protocolVersion}`).slice(0, 60));
  return offers.length === 0 ? "no interface" : offers.join(", ");
}

function spokenHere({ transport }: A2aConfig): string {
  const transports = { jsonrpc: "JSONRPC", rest: "HTTP+JSON" };
  return `A2A 1.0 and 0.3 over ${transport === undefined ? Object.values(transports).join(" and ") : transports[transport]}`;
}

function unusable(what: string): UpstreamError {
  return new UpstreamError("upstream_protocol", `The agent card cannot be used: it ${what}.`, { processed: "no" });
}
