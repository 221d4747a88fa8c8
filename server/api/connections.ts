/** `/api/connections`: made, changed and tested. What files declare is changed in the files; nothing starts a process. */
import { z } from "zod";
import { checkConnection } from "../connections/check.ts";
import {
  createConnection,
  deleteConnection,
  type EditableConnection,
  type SavedConnection,
  updateConnection,
} from "../connections/connection-edits.ts";
import { FIRST_ENVIRONMENT } from "../connections/files.ts";
import { parseConnectionConfig } from "../connections/stored-config.ts";
import { connectionWords } from "../connections/to-file.ts";
import type { ServedConnection } from "../connections/types.ts";
import { JackfieldError } from "../errors.ts";
import type { ApiCaller } from "./caller.ts";
import { pageOf, pageOfAll, pageQuery } from "./pagination.ts";
import type { ApiParts } from "./parts.ts";
import { type ApiRoute, defineRoute } from "./route.ts";

const words = z.record(z.string(), z.unknown()).meta({
  description:
    "In the words of a file under `connection:` (docs/configuration.md). No commands, and no variables of the server.",
});

const connection = z
  .object({
    id: z.ulid(),
    slug: z.string(),
    environment: z.string().meta({ description: "Slug of the environment that owns it." }),
    type: z.string(),
    label: z.string(),
    description: z.string(),
    subject: z.string(),
    method: z.string().meta({ description: "How it authenticates." }),
    credential: z.string().nullable(),
    state: z.enum(["ok", "loading", "failed", "needsAuthorization", "disabled"]),
    tools: z.int(),
    problem: z.object({ code: z.string(), message: z.string() }).nullable(),
  })
  .meta({ id: "Connection" });

const detail = z
  .object({ ...connection.shape, origin: z.enum(["file", "web"]), source: z.string().nullable(), words })
  .meta({ id: "ConnectionDetail" });

const saved = z
  .object({
    id: z.ulid(),
    slug: z.string(),
    revision: z.string().meta({ description: "To be handed back with the next change." }),
    state: z.enum(["served", "draft", "unchanged"]),
    problems: z.array(z.unknown()).meta({ description: "What deserves a second look." }),
    words,
  })
  .meta({ id: "SavedConnection" });

const health = z.object({ state: z.string(), code: z.string().nullable(), message: z.string().nullable() });
const params = z.object({ id: z.ulid() });

export function connectionRoutes(parts: ApiParts): ApiRoute[] {
  const { registry, store, authoring } = parts;

  function served(caller: ApiCaller): ServedConnection[] {
    return registry.connections().filter(({ organizationId }) => organizationId === caller.organizationId);
  }

  function find(caller: ApiCaller, id: string): ServedConnection {
    const found = served(caller).find((one) => one.id === id);
    if (found === undefined) throw new JackfieldError("not_found", { text: "There is no such connection." });
    return found;
  }

  /** One that was never published is no less the organization's. */
  async function checkOwn(caller: ApiCaller, connectionId: string): Promise<void> {
    const row = await store.models.connections.findByPk(connectionId);
    const environment = row && (await store.models.environments.findByPk(row.environmentId));
    if (environment?.organizationId !== caller.organizationId) {
      throw new JackfieldError("not_found", { text: "There is no such connection." });
    }
  }

  function shown(of: ServedConnection): z.input<typeof connection> {
    const { id, slug, type, label, description, subject, auth, credential, state, tools, loadError } = of;
    return {
      ...{ id, slug, type, label, description, subject, state },
      environment: registry.environment(of.environmentId)?.slug ?? "",
      method: auth.method,
      credential: credential ?? null,
      tools: tools.filter((tool) => tool.state === "approved").length,
      problem: loadError ?? null,
    };
  }

  function savedView({ connection: of, state, problems }: SavedConnection): z.input<typeof saved> {
    const { id, slug, revision, words: as }: EditableConnection = of;
    return { id, slug, revision, state, problems: [...problems], words: as };
  }

  return [
    defineRoute({
      method: "get",
      path: "/connections",
      id: "listConnections",
      summary: "List the connections that are served",
      permission: "connections:read",
      query: z.object(pageQuery),
      response: pageOf(connection),
      async handle({ caller, query }) {
        const all = served(caller).sort((a, b) => (a.id < b.id ? -1 : 1));
        const { items, nextCursor } = pageOfAll(all, query, ({ id }) => id);
        return { items: items.map(shown), nextCursor };
      },
    }),
    defineRoute({
      method: "post",
      path: "/connections",
      id: "createConnection",
      summary: "Make a connection",
      permission: "connections:write",
      recent: true,
      body: z.strictObject({
        slug: z.string().max(64),
        environment: z.string().max(64).default(FIRST_ENVIRONMENT),
        words,
      }),
      status: 201,
      response: saved,
      errors: ["invalid_entry", "slug_taken", "not_found"],
      async handle({ caller, body: { slug, environment, words: entered } }) {
        const where = { organizationId: caller.organizationId, slug: environment };
        const row = await store.models.environments.findOne({ where });
        if (row === null) throw new JackfieldError("not_found", { text: `There is no environment ${environment}.` });
        return savedView(
          await createConnection(authoring, { environmentId: row.id, slug, entered, author: caller.name }),
        );
      },
    }),
    defineRoute({
      method: "get",
      path: "/connections/:id",
      id: "getConnection",
      summary: "Show a connection and how it is declared, without secrets",
      permission: "connections:read",
      params,
      response: detail,
      errors: ["not_found"],
      async handle({ caller, params: { id } }) {
        const found = find(caller, id);
        const versionId = registry.environment(found.environmentId)?.versionId ?? "";
        const version = await store.models.connectionVersions.findOne({ where: { connectionId: id, versionId } });
        if (version === null) throw new JackfieldError("not_found", { text: "There is no such connection." });
        const { origin, source } = version;
        return {
          ...shown(found),
          origin,
          source,
          words: connectionWords(found.slug, parseConnectionConfig(version.config)),
        };
      },
    }),
    defineRoute({
      method: "put",
      path: "/connections/:id",
      id: "updateConnection",
      summary: "Change a connection that people made; its slug stays",
      permission: "connections:write",
      recent: true,
      params,
      body: z.strictObject({ words, revision: z.string().max(100).optional() }),
      response: saved,
      errors: ["invalid_entry", "edit_conflict", "declared_in_file", "not_found"],
      async handle({ caller, params: { id }, body: { words: entered, revision } }) {
        await checkOwn(caller, id);
        const change = { connectionId: id, entered, revision, author: caller.name };
        return savedView(await updateConnection(authoring, change));
      },
    }),
    defineRoute({
      method: "delete",
      path: "/connections/:id",
      id: "deleteConnection",
      summary: "Delete a connection that people made",
      permission: "connections:write",
      recent: true,
      params,
      response: z.object({ state: z.enum(["served", "draft", "unchanged"]) }),
      errors: ["edit_conflict", "declared_in_file", "not_found"],
      async handle({ caller, params: { id } }) {
        await checkOwn(caller, id);
        const { state } = await deleteConnection(authoring, { connectionId: id, author: caller.name });
        return { state };
      },
    }),
    defineRoute({
      method: "post",
      path: "/connections/:id/test",
      id: "testConnection",
      summary: "Ask the service of a connection how it is, now",
      permission: "connections:write",
      params,
      response: health,
      errors: ["not_found", "vault_unavailable"],
      limit: { points: 60, perMs: 60_000 },
      async handle({ caller, params: { id } }) {
        const { state, code, message } = await checkConnection(parts.checking, find(caller, id));
        return { state, code: code ?? null, message: message ?? null };
      },
    }),
  ];
}
