/**
 * How a route of `/api` is defined. One definition gives its place, who may call it, what goes in and comes out, and
 * what it does; the express route, the checks and the OpenAPI document are all made from it.
 */
import { z } from "zod";
import { type ErrorCode, JackfieldError } from "../errors.ts";
import type { Permission } from "../people/permissions.ts";
import type { Limit } from "../shared-state/contract.ts";
import type { ApiCaller } from "./caller.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** Where a wrong value stands (`body.name`, `query.limit`, `path.id`) and what is wrong with it. */
export interface Problem {
  readonly field: string;
  readonly message: string;
}

/** What a handler gets: everything checked. */
export interface ApiCall<P, Q, B> {
  readonly caller: ApiCaller;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
}

/** What a request carries, before anything is checked. */
export interface RawInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

export interface RouteDefinition<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType,
  R extends z.ZodType,
> {
  readonly method: Method;
  /** Under `/api`, in express's form: `/tokens/:id`. */
  readonly path: string;
  /** Unique over all routes; the operation's id in the document and its name in the audit: `createToken`. */
  readonly id: string;
  /** One line, in the imperative. */
  readonly summary: string;
  readonly description?: string;
  /**
   * Who may call: whoever has the permission; `member`: everybody in the organization, for what is their own;
   * `person`: the same, but tokens of agents may not.
   */
  readonly permission: Permission | "member" | "person";
  /** Only people at a browser, never a token, whatever it may. */
  readonly session?: true;
  /** A browser must have signed in within the last 15 minutes. */
  readonly recent?: true;
  readonly params?: P;
  /** Strict: unknown names are refused. `organization` belongs to every route and is taken out before. */
  readonly query?: Q;
  readonly body?: B;
  /** Bytes of the body; default 64 KiB. */
  readonly bodyLimit?: number;
  /** What is answered: anything else that the handler returns is left out. Absent: nothing (204). */
  readonly response?: R;
  /** Default 200, or 204 without a response. */
  readonly status?: 200 | 201 | 202 | 204;
  /** Errors that are this route's own, for the document. */
  readonly errors?: readonly ErrorCode[];
  /** How often one caller may, beside the limit over all routes. */
  readonly limit?: Limit;
  handle(call: ApiCall<z.output<P>, z.output<Q>, z.output<B>>): Promise<z.input<R>>;
}

/** A route of whatever types, ready to be served and described. */
export interface ApiRoute
  extends Omit<RouteDefinition<z.ZodObject, z.ZodObject, z.ZodType, z.ZodType>, "handle" | "status" | "bodyLimit"> {
  readonly status: 200 | 201 | 202 | 204;
  readonly bodyLimit: number;
  /**
   * Checks the input; throws `invalid_input` with every problem. What comes back does the work and answers in the
   * form of the response's schema; undefined where there is none.
   */
  prepare(raw: RawInput, caller: ApiCaller): () => Promise<unknown>;
}

const BODY_LIMIT = 64 * 1024;
const NOTHING = z.strictObject({});

/** Makes a route of its definition. Throws where path and `params` do not fit: a mistake of ours, seen at the start. */
export function defineRoute<
  P extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Q extends z.ZodObject = z.ZodObject<Record<never, never>>,
  B extends z.ZodType = z.ZodUndefined,
  R extends z.ZodType = z.ZodUndefined,
>(definition: RouteDefinition<P, Q, B, R>): ApiRoute {
  const { handle, params, query, body, response, bodyLimit = BODY_LIMIT, ...same } = definition;
  const named = [...definition.path.matchAll(/:([a-zA-Z]+)/g)].map(([, name]) => name ?? "");
  const described = Object.keys(params?.shape ?? {});
  if (named.sort().join() !== described.sort().join()) {
    throw new Error(`${definition.id}: the path names ${named.join(", ")}, its params ${described.join(", ")}`);
  }
  return {
    ...same,
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body }),
    ...(response === undefined ? {} : { response }),
    bodyLimit,
    status: definition.status ?? (response === undefined ? 204 : 200),
    prepare(raw, caller) {
      const problems: Problem[] = [];
      const given = {
        params: checked("path", params ?? NOTHING, raw.params, problems),
        query: checked("query", query?.strict() ?? NOTHING, raw.query, problems),
        body: checked("body", body ?? z.undefined(), raw.body, problems),
      };
      if (problems.length > 0) throw inputProblem(problems);
      // Checked just now: what has no schema is empty, and the types of both are the defaults above.
      const call = { caller, ...given } as ApiCall<z.output<P>, z.output<Q>, z.output<B>>;
      return async () => {
        const answer = await handle(call);
        return response === undefined ? undefined : response.parse(answer);
      };
    },
  };
}

/** The error of a handler that finds a value wrong that its schema let pass. */
export function inputProblem(problems: readonly Problem[]): JackfieldError {
  const text = problems.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return new JackfieldError("invalid_input", { text, data: { problems } });
}

function checked(place: string, schema: z.ZodType, value: unknown, problems: Problem[]): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) {
    const at = (path: readonly PropertyKey[]) => [place, ...path.map(String)].join(".");
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) problems.push({ field: at([...issue.path, key]), message: "is not known here" });
    } else problems.push({ field: at(issue.path), message: issue.message });
  }
  return undefined;
}
