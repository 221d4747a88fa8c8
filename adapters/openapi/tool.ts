/** One operation -> one tool and the plan of its requests. */
import type { JsonObject, ToolDefinition } from "../contract.ts";
import { objectOf, stringsOf, textOf } from "../http-request/json.ts";
import type { OperationPlan, SchemePlan } from "../http-request/plan.ts";
import { bodyOfParameters, type RequestBody, requestBodyOf } from "./bodies.ts";
import { assemble } from "./definitions.ts";
import type { OpenApiDocument } from "./document.ts";
import type { FoundOperation } from "./operations.ts";
import { classOf, type Overrides } from "./overrides.ts";
import { declared, IDEMPOTENCY, type Parameter, parametersOf } from "./parameters.ts";
import type { References } from "./references.ts";
import { announcedBy } from "./responses.ts";
import { Schemas } from "./schema.ts";
import { keyPlaces, securityOf } from "./security-schemes.ts";
import { serverOf } from "./servers.ts";
import { shrink } from "./shrink.ts";
import { clipped, cutAtSentence, plainText } from "./words.ts";

export interface ConvertOptions {
  /** Where the document came from. */
  specUrl?: string;
  /** The administrator's base URL makes servers of the document unnecessary. */
  baseUrl?: string;
  /** Values of server variables. */
  variables: Record<string, string>;
  overrides: Overrides;
  deprecated: "hide" | "show";
  /** Header that takes one fresh key per call of an operation that changes something. */
  idempotencyHeader?: string;
  /** Identity -> name of earlier imports. */
  names: [string, string][];
}

export type ConvertedOperation =
  | {
      kind: "tool";
      tool: ToolDefinition;
      plan: OperationPlan;
      operationId?: string;
      /** The input schema before it was cut, where it was. */
      whole?: JsonObject;
    }
  | { kind: "skipped"; method: string; path: string; reason: string };

const MAX_DESCRIPTION = 1024;
const MAX_PARAMETER_WORDS = 240;
const MAX_TITLE = 100;
/** fetch sends no body with these, and servers expect none (RFC 9110, 9.3). */
const BODILESS = new Set(["GET", "HEAD"]);

export class ToolMaker {
  readonly #document: OpenApiDocument;
  readonly #references: References;
  readonly #options: ConvertOptions;
  readonly #keys: ReadonlySet<string>;
  readonly #inputs: Schemas;
  readonly #outputs: Schemas;

  constructor(of: {
    document: OpenApiDocument;
    references: References;
    schemes: Record<string, SchemePlan>;
    options: ConvertOptions;
  }) {
    const { document, references } = of;
    this.#document = document;
    this.#references = references;
    this.#options = of.options;
    this.#keys = keyPlaces(of.schemes);
    this.#inputs = new Schemas(references, document.version, "input");
    this.#outputs = new Schemas(references, document.version, "output");
  }

  /** @param action the stable name of the operation */
  make(found: FoundOperation, action: string): ConvertedOperation {
    const { method, path, operation, pathItem } = found;
    const { root, version } = this.#document;
    const options = this.#options;
    const references = this.#references;
    const skip = (reason: string): ConvertedOperation => ({ kind: "skipped", method, path, reason });
    if (method === "TRACE") return skip("TRACE is never called");
    if (operation["deprecated"] === true && options.deprecated === "hide") {
      return skip("it is deprecated; `deprecated: show` lists it");
    }
    const server = serverOf(
      { root, version, specUrl: options.specUrl, variables: options.variables },
      pathItem,
      operation,
    );
    if (server === undefined && options.baseUrl === undefined) {
      return skip("the document does not say where the service is; set baseUrl");
    }
    const given = declared(references, pathItem, operation);
    const body = this.#body(found, given);
    const parameters = parametersOf(given, {
      references,
      version,
      path,
      keys: this.#keys,
      hasBody: body !== undefined,
      label: `${method} ${path}`,
    });
    const produces = version === "2.0" ? stringsOf(operation["produces"] ?? root["produces"]) : undefined;
    const announced = announcedBy(operation, { references, schemas: this.#outputs, produces });
    const access = classOf(method, action, options.overrides);
    const security = securityOf(root, operation);
    const key = this.#idempotency(parameters, access, method);
    const plan: OperationPlan = {
      method,
      path,
      server: server ?? "",
      parameters: parameters.map((parameter) => parameter.plan),
      ...(body === undefined ? {} : { body: body.plan }),
      ...(security === undefined ? {} : { security }),
      ...(announced.accept === undefined ? {} : { accept: announced.accept }),
      ...(announced.wrap === undefined ? {} : { wrap: announced.wrap }),
      ...(key === undefined ? {} : { idempotency: key }),
    };
    const { schema: inputSchema, whole } = this.#inputSchema(parameters, body);
    const title = clipped(textOf(operation["summary"]) ?? "", MAX_TITLE);
    const tool: ToolDefinition = {
      name: action,
      ...(title === "" ? {} : { title }),
      description: descriptionOf(found),
      inputSchema,
      ...(announced.outputSchema === undefined ? {} : { outputSchema: announced.outputSchema }),
      annotations: {
        readOnlyHint: access === "read",
        ...(access === "write" ? { destructiveHint: method === "DELETE" } : {}),
        ...(access === "read" || method === "PUT" || method === "DELETE" ? { idempotentHint: true } : {}),
      },
      ...(whole === undefined ? {} : { _meta: { "jackfield/cut": true } }),
    };
    const { operationId } = found;
    return {
      kind: "tool",
      tool,
      plan,
      ...(typeof operationId === "string" ? { operationId } : {}),
      ...(whole === undefined ? {} : { whole }),
    };
  }

  #body({ method, path, operation }: FoundOperation, given: readonly JsonObject[]): RequestBody | undefined {
    const { root, version } = this.#document;
    const references = this.#references;
    const body =
      version === "2.0"
        ? bodyOfParameters(references, given, stringsOf(operation["consumes"] ?? root["consumes"]))
        : requestBodyOf(references, operation);
    if (body === undefined || !BODILESS.has(method)) return body;
    references.warn(`${method} ${path}: has a body, which is not sent with this method`);
    return undefined;
  }

  #idempotency(parameters: readonly Parameter[], access: "read" | "write", method: string): string | undefined {
    const own = parameters.find(({ plan }) => plan.in === "header" && IDEMPOTENCY.test(plan.name));
    if (own !== undefined) return own.plan.name;
    // RFC 9110, 9.2.2: the other methods may be repeated as they are.
    return access === "write" && (method === "POST" || method === "PATCH")
      ? this.#options.idempotencyHeader
      : undefined;
  }

  #inputSchema(
    parameters: readonly Parameter[],
    body: RequestBody | undefined,
  ): { schema: JsonObject; whole?: JsonObject } {
    const refs = new Set<string>();
    const properties: [string, JsonObject][] = [];
    const add = (arg: string, schema: unknown, words: string | undefined) => {
      const converted = this.#inputs.convert(schema);
      for (const name of converted.refs) refs.add(name);
      const description = clipped(words ?? "", MAX_PARAMETER_WORDS);
      properties.push([arg, { ...converted.schema, ...(description === "" ? {} : { description }) }]);
    };
    for (const { plan, schema, description } of parameters) add(plan.arg, schema, description);
    if (body !== undefined) add(body.plan.arg, body.schema, body.description);
    const required = parameters.filter(({ plan }) => plan.required).map(({ plan }) => plan.arg);
    if (body?.plan.required) required.push(body.plan.arg);
    const root: JsonObject = {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length > 0 ? { required } : {}),
    };
    const whole = assemble(root, refs, this.#inputs);
    const { schema, cut } = shrink(whole);
    return cut ? { schema, whole } : { schema };
  }
}

function descriptionOf({ method, path, operation, pathItem }: FoundOperation): string {
  const texts = [operation["summary"], operation["description"]].map((text) => plainText(textOf(text) ?? ""));
  const [summary = "", description = ""] = texts;
  const both = description.startsWith(summary)
    ? description
    : [summary, description].filter((text) => text !== "").join("\n\n");
  const [tag] = stringsOf(operation["tags"]);
  const other = plainText(textOf(objectOf(pathItem)["summary"]) ?? "");
  const fallback = `${method} ${path}${tag === undefined ? "" : ` (${plainText(tag)})`}${other === "" ? "" : `: ${other}`}`;
  const mark = operation["deprecated"] === true ? "[deprecated] " : "";
  return cutAtSentence(mark + (both === "" ? fallback : both), MAX_DESCRIPTION);
}
