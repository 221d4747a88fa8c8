/** The operations of a document, each a tool and the plan of its requests. A fault costs only the one it is in. */
import type { JsonObject } from "../contract.ts";
import { isObject, objectOf } from "../http-request/json.ts";
import type { SchemePlan } from "../http-request/plan.ts";
import type { OpenApiDocument } from "./document.ts";
import { actionNames, identityOf, type Named } from "./names.ts";
import { References } from "./references.ts";
import { schemesOf } from "./security-schemes.ts";
import { type SignInPlaces, signInPlacesOf } from "./sign-in.ts";
import { type ConvertedOperation, type ConvertOptions, ToolMaker } from "./tool.ts";
import { clipped, cutAtSentence, plainText } from "./words.ts";

export interface ConvertedDocument {
  title: string;
  description: string;
  schemes: Record<string, SchemePlan>;
  signIn: SignInPlaces;
  /** One at a time, in the document's order; to be read once. */
  operations: Iterable<ConvertedOperation>;
  /** Complete when all operations were read. */
  warnings: () => string[];
}

/** An operation where it stands in the document. */
export interface FoundOperation extends Named {
  pathItem: JsonObject;
  operation: JsonObject;
}

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
/** Tools of one document. */
const MAX_OPERATIONS = 30_000;

export function convertDocument(document: OpenApiDocument, options: ConvertOptions): ConvertedDocument {
  const { root } = document;
  const references = new References(root);
  for (const warning of document.warnings) references.warn(warning);
  const schemes = schemesOf(references, root);
  const found = operationsOf(references, root);
  const names = actionNames(found, new Map(options.names));
  const maker = new ToolMaker({ document, references, schemes, options });
  const info = objectOf(root["info"]);
  if (found.length === 0) references.warn("the document has no operations");
  return {
    title: clipped(String(info["title"] ?? ""), 200),
    description: cutAtSentence(plainText(String(info["description"] ?? "")), 2000),
    schemes,
    signIn: signInPlacesOf(references, root, options.specUrl ?? options.baseUrl),
    operations: converted(maker, found, names),
    warnings: () => references.warnings,
  };
}

function* converted(
  maker: ToolMaker,
  found: readonly FoundOperation[],
  names: ReadonlyMap<string, string>,
): Generator<ConvertedOperation> {
  for (const [index, each] of found.entries()) {
    const { method, path } = each;
    const skip = (reason: string): ConvertedOperation => ({ kind: "skipped", method, path, reason });
    if (index >= MAX_OPERATIONS) {
      yield skip(`only ${MAX_OPERATIONS} operations of a document are taken`);
      continue;
    }
    try {
      yield maker.make(each, names.get(identityOf(each)) ?? identityOf(each));
    } catch (error) {
      yield skip(`cannot be read: ${(error instanceof Error ? error.message : String(error)).slice(0, 200)}`);
    }
  }
}

function operationsOf(references: References, root: JsonObject): FoundOperation[] {
  const found: FoundOperation[] = [];
  for (const [path, value] of Object.entries(objectOf(root["paths"]))) {
    if (path.startsWith("x-")) continue;
    const target = references.object(value);
    if (target === undefined) {
      if (value !== null) references.warn(`${path}: cannot be read and was left out`);
      continue;
    }
    // What stands beside the reference of a path item counts too (OpenAPI 3.1, 4.8.9).
    const pathItem = isObject(value) && value !== target ? { ...target, ...value } : target;
    const more = Object.entries(objectOf(pathItem["additionalOperations"])).filter(([name]) =>
      /^[A-Za-z-]+$/.test(name),
    );
    for (const [method, operation] of [...METHODS.map((name) => [name, pathItem[name]] as const), ...more]) {
      if (!isObject(operation)) continue;
      const { operationId } = operation;
      found.push({ method: method.toUpperCase(), path, operationId, pathItem, operation });
    }
  }
  return found;
}
