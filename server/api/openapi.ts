/** The OpenAPI 3.1 document of `/api`, made from the definitions of its routes. */
import { z } from "zod";
import type { ErrorCode } from "../errors.ts";
import { VERSION } from "../version.ts";
import { CSRF_HEADER } from "./caller.ts";
import { errorBody, statusOf } from "./problems.ts";
import type { ApiRoute } from "./route.ts";

type Json = Record<string, unknown>;

const DESCRIPTION = `Everything that the pages do. Called by people at a browser (the session's cookie, and its token from
\`GET /api/me\` in \`${CSRF_HEADER}\` for everything but GET), or with an agent token that has the permission as one of
its scopes. Lists come in pages. Times are UTC in ISO 8601, ids are ULIDs.`;

const ORGANIZATION = {
  name: "organization",
  in: "query",
  required: false,
  description: "Slug of the organization that is meant. Needed only by people who belong to several.",
  schema: { type: "string" },
};

/** Describes the routes. */
export function openApiDocument(routes: readonly ApiRoute[]): Json {
  const schemas: Json = {};
  schemaOf(errorBody, "output", schemas);
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = `/api${route.path.replace(/:([a-zA-Z]+)/g, "{$1}")}`;
    const item = paths[path] ?? {};
    paths[path] = item;
    item[route.method] = operationOf(route, schemas);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Jackfield", version: VERSION, description: DESCRIPTION },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "An agent token; its permission scopes are listed per operation.",
        },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "jackfield-session",
          description: "Over https its name starts with __Host-.",
        },
        csrf: { type: "apiKey", in: "header", name: CSRF_HEADER },
      },
    },
  };
}

function operationOf(route: ApiRoute, schemas: Json): Json {
  const { id, summary, description, params, query, body, response, status } = route;
  const parameters = [...parametersOf(params, "path", schemas), ...parametersOf(query, "query", schemas), ORGANIZATION];
  const success =
    response === undefined
      ? { description: "Done." }
      : { description: "Done.", ...json(schemaOf(response, "output", schemas)) };
  const errors = Object.fromEntries(
    [...new Set(codesOf(route).map((code) => statusOf({ code })))]
      .sort()
      .map((code) => [String(code), { $ref: "#/components/responses/Error" }]),
  );
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [route.path.split("/")[1] ?? ""],
    security: securityOf(route),
    parameters,
    ...(body === undefined ? {} : { requestBody: { required: true, ...json(schemaOf(body, "input", schemas)) } }),
    responses: {
      [status]: success,
      ...Object.fromEntries(Object.keys(errors).map((code) => [code, problem()])),
      default: problem(),
    },
  };
}

function codesOf({ params, query, body, recent, errors = [] }: ApiRoute): ErrorCode[] {
  const input: ErrorCode[] = [params, query, body].some((part) => part !== undefined) ? ["invalid_input"] : [];
  const again: ErrorCode[] = recent === true ? ["recent_sign_in_required"] : [];
  return ["sign_in_required", "permission_missing", "rate_limited", ...input, ...again, ...errors];
}

function securityOf({ method, permission, session }: ApiRoute): Json[] {
  const scopes = permission === "member" || permission === "person" ? [] : [permission];
  const browser = method === "get" ? { session: [] } : { session: [], csrf: [] };
  return session === true ? [browser] : [{ token: scopes }, browser];
}

function parametersOf(schema: z.ZodObject | undefined, place: "path" | "query", schemas: Json): Json[] {
  if (schema === undefined) return [];
  const { properties, required } = SHAPE.parse(schemaOf(schema, "input", schemas));
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }));
}

const SHAPE = z.object({
  properties: z.record(z.string(), z.looseObject({ description: z.string().optional() })),
  required: z.array(z.string()).default([]),
});

/** The JSON Schema of a zod schema; parts with an id of their own go among the components. */
function schemaOf(schema: z.ZodType, io: "input" | "output", schemas: Json): Json {
  const made = DEFINITIONS.parse(z.toJSONSchema(schema, { io, override: dropPattern }));
  const { $schema: _dialect, $defs = {}, ...rest } = made;
  for (const [name, definition] of Object.entries($defs)) schemas[name] = pointed(definition);
  return DEFINITIONS.parse(pointed(rest));
}

const DEFINITIONS = z.looseObject({
  $schema: z.string().optional(),
  $defs: z.record(z.string(), z.unknown()).optional(),
});

/** The pattern of a date says nothing that its format does not; that of an id does, because JSON Schema knows none. */
function dropPattern({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format === "ulid") delete jsonSchema.format;
  else if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
}

function pointed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]: [string, unknown]) =>
      key === "$ref" && typeof inner === "string"
        ? [key, inner.replace("#/$defs/", "#/components/schemas/")]
        : [key, pointed(inner)],
    ),
  );
}

function json(schema: Json): Json {
  return { content: { "application/json": { schema } } };
}

function problem(): Json {
  return { description: "Not done.", ...json({ $ref: "#/components/schemas/Error" }) };
}
