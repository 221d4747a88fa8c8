/** `/api/tools/try`: a person calls a tool from the pages, through the one pipeline. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { mayUseEndpoint } from "../access/principals.ts";
import { ERRORS, JackfieldError } from "../errors.ts";
import { callTool } from "../gateway/call.ts";
import type { GatewayCaller } from "../gateway/caller.ts";
import { failure } from "../gateway/results.ts";
import { membershipOf } from "../people/membership.ts";
import { clientKey, type Principal, SCOPES } from "../people/principal.ts";
import { personVariables } from "../people/principal-variables.ts";
import { TESTS } from "../people/token-holder.ts";
import type { ApiCaller } from "./caller.ts";
import type { ApiParts } from "./parts.ts";
import { type ApiRoute, defineRoute } from "./route.ts";

/** As much as a call over MCP may carry. */
const BODY_LIMIT = 4 * 1024 * 1024;
/** Milliseconds after which a try is given up. */
const PATIENCE_MS = 120_000;

export function toolRoutes(parts: ApiParts): ApiRoute[] {
  return [
    defineRoute({
      method: "post",
      path: "/tools/try",
      id: "tryTool",
      summary: "Call a tool as yourself",
      description:
        "Everything holds as for a call over MCP: visibility, review, classes, policy, approvals, sign-ins, audit. A refusal is a result with `isError`; its code stands in `_meta`.",
      permission: "tools:use",
      session: true,
      bodyLimit: BODY_LIMIT,
      body: z.object({
        endpoint: z.string().optional().meta({ description: "Slug; the default endpoint unless named" }),
        draft: z.boolean().default(false).meta({
          description: "At the draft of the environment, where one waits; needs `connections:write`",
        }),
        name: z.string().min(1),
        arguments: z.record(z.string(), z.unknown()).optional(),
        approval: z.string().min(1).optional().meta({ description: "Id of a granted approval" }),
      }),
      response: z.object({ result: z.record(z.string(), z.unknown()) }),
      errors: ["not_found"],
      async handle({ caller: person, body }) {
        const caller = await callerFor(parts, person, body);
        const signal = AbortSignal.timeout(PATIENCE_MS);
        const reach = { caller: { key: caller.principal.key, capabilities: {} }, signal };
        const call = { caller, door: "try", name: body.name, args: body.arguments, reach: () => reach } as const;
        try {
          const approval = body.approval === undefined ? {} : { approval: body.approval };
          const outcome = await callTool(parts.gateway, { ...call, ...approval });
          if (outcome.kind === "result") return { result: outcome.result };
          return { result: failure("asked_and_refused", ERRORS.asked_and_refused.text) };
        } catch (error) {
          if (!(error instanceof JackfieldError) || error.code !== "unknown_tool") throw error;
          return { result: failure("unknown_tool", error.message) };
        }
      },
    }),
  ];
}

/** @throws JackfieldError `not_found` for an endpoint that is not there, or not for this person */
async function callerFor(
  { registry, toolsets, store }: ApiParts,
  { organizationId, organizationSlug, subject, issuer, name, key, id, permissions }: ApiCaller,
  { endpoint: slug, draft }: { endpoint?: string | undefined; draft: boolean },
): Promise<GatewayCaller> {
  if (draft && !permissions.has(TESTS)) {
    throw new JackfieldError("permission_missing", { text: `Trying a draft needs the permission ${TESTS}.` });
  }
  const found = draft ? registry.tried(organizationSlug, slug) : registry.endpoint(organizationSlug, slug);
  const row = await store.models.people.findByPk(subject);
  const member = row === null ? undefined : await membershipOf(store, organizationId, row);
  if (!found || row === null || !member || !mayUseEndpoint(found.endpoint.config.principals, member)) {
    throw new JackfieldError("not_found", { text: "There is no such endpoint." });
  }
  const { endpoint, environment } = found;
  const session = await store.models.webSessions.findByPk(id);
  const principal: Principal = {
    kind: "person",
    ...{ organizationId, issuer, subject, name, key },
    scopes: new Set(SCOPES),
    tokenId: id,
    clientKey: clientKey(id),
    endpointIds: [endpoint.id],
    variables: await personVariables(store, row, session?.identityId ?? null),
    ...(draft ? { testing: true } : {}),
  };
  return {
    ...{ principal, endpoint, environment },
    toolset: toolsets.for(environment, endpoint),
    holderKey: clientKey(`try|${id}`),
    era: "modern",
    traceId: randomUUID().replaceAll("-", ""),
  };
}
