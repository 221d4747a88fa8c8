/** One agent as its card describes it now, and the SDK's client that speaks to it. */
import type { AgentCard, AgentInterface, AgentSkill } from "@a2a-js/sdk";
import { type Client, ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { type AdapterContext, type Introduction, UpstreamError, UpstreamRpcError } from "../contract.ts";
import { bounded } from "../mcp/failures.ts";
import { bindingOf, chooseInterface, fetchCard, type ReadCard, versionOf } from "./card.ts";
import type { A2aConfig } from "./config.ts";
import { failureOf } from "./failures.ts";
import { agentFetch, cardFetch } from "./fetch.ts";
import { type CardSecurity, securityOf } from "./security.ts";
import { type SignatureState, signatureOf, signatureWords } from "./signature.ts";

/** Milliseconds for everything that is read before an agent can be spoken to. */
const READ_MS = 20_000;

export class Agent {
  readonly client: Client;
  readonly card: AgentCard;
  /** Where it is spoken to; the audience of statements about callers. */
  readonly spoken: AgentInterface;
  readonly signature: SignatureState;

  private constructor(client: Client, card: AgentCard, spoken: AgentInterface, signature: SignatureState) {
    this.client = client;
    this.card = card;
    this.spoken = spoken;
    this.signature = signature;
  }

  /**
   * Reads the card, and the extended one where there is a credential to ask for it with.
   * @throws UpstreamError where the agent cannot be spoken to; what `context.credential` rejects with
   */
  static async read(context: AdapterContext, config: A2aConfig): Promise<Agent> {
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(READ_MS)]);
    try {
      const read = await fetchCard(cardFetch(context), config, signal);
      const security = securityOf(read.card);
      const spoken = chooseInterface(read.card, config);
      const client = await clientFor(context, security, read.card, spoken);
      const signature = await signatureOf(read, context.namedFetch);
      const extended = await extendedCard(context, client, read.card, signal);
      if (extended === undefined) return new Agent(client, read.card, spoken, signature);
      const signed = extended.signatures.length > 0;
      const extendedSignature = signed ? await signatureOf(asRead(extended), context.namedFetch) : signature;
      return new Agent(client, extended, spoken, extendedSignature);
    } catch (error) {
      throw failureOf(error);
    }
  }

  get skills(): readonly AgentSkill[] {
    return this.card.skills;
  }

  get streams(): boolean {
    return this.card.capabilities?.streaming === true;
  }

  get pushes(): boolean {
    return this.card.capabilities?.pushNotifications === true;
  }

  /**
   * Whether its stream does not say which pieces of an artifact belong together: the SDK's client drops `append` of
   * 0.3 over REST (1.3.0), so that the task itself must be looked at.
   */
  get losesPieces(): boolean {
    return this.streams && versionOf(this.spoken) === "0.3" && bindingOf(this.spoken) === "rest";
  }

  /** How it is spoken to, in words. */
  get protocol(): string {
    const transport = bindingOf(this.spoken) === "rest" ? "REST" : "JSON-RPC";
    return `A2A ${versionOf(this.spoken)} over ${transport}`;
  }

  introduction(): Introduction {
    const { name, version, description } = this.card;
    return {
      serverInfo: { name: bounded(name), ...(version === "" ? {} : { version: bounded(version) }) },
      ...(description === "" ? {} : { instructions: description.slice(0, 4000).toWellFormed() }),
      protocol: `${this.protocol}, ${signatureWords(this.signature)}`,
    };
  }
}

function clientFor(
  context: AdapterContext,
  security: CardSecurity,
  card: AgentCard,
  spoken: AgentInterface,
): Promise<Client> {
  const options = { fetchImpl: agentFetch(context, security), legacyCompat: { enabled: true } };
  const chosen = { ...card, supportedInterfaces: [spoken] };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    // The card is in its normal form already.
    cardResolver: { resolve: async () => chosen },
  });
  return factory.createFromAgentCard(chosen);
}

/** What the agent tells those who authenticated; where it will not, what it tells everybody is enough. */
async function extendedCard(
  context: AdapterContext,
  client: Client,
  card: AgentCard,
  signal: AbortSignal,
): Promise<AgentCard | undefined> {
  if (card.capabilities?.extendedAgentCard !== true || (await context.credential()) === undefined) return undefined;
  try {
    const extended = await client.getAgentCard({ signal });
    // Where and how it is spoken to, and with which credential, is what everybody can read.
    const { securitySchemes, capabilities } = card;
    return extended.name === "" ? undefined : { ...extended, securitySchemes, capabilities };
  } catch (error) {
    const failure = failureOf(error);
    if (!(failure instanceof UpstreamError || failure instanceof UpstreamRpcError)) throw failure;
    context.log.warn({ reason: failure.message }, "the agent's extended card could not be read");
    return undefined;
  }
}

function asRead(card: AgentCard): ReadCard {
  return { raw: {}, shaped: {}, card };
}
