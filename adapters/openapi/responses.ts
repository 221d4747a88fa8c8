/** What an operation announces as its answer. The answer itself is read by its own Content-Type. */
import type { JsonObject } from "../contract.ts";
import { arrayOf, objectOf, stringsOf } from "../http-request/json.ts";
import { assemble, bytesOfNeeded } from "./definitions.ts";
import type { References } from "./references.ts";
import type { Schemas } from "./schema.ts";
import { bytesOf } from "./shrink.ts";

/** Bytes of an output schema that is shown; it costs more context than it is worth beyond. */
const MAX_OUTPUT = 4096;

export interface Announced {
  outputSchema?: JsonObject;
  wrap?: true;
  accept?: string;
}

/** @param produces media types of Swagger 2.0, where the document is one */
export function announcedBy(
  operation: JsonObject,
  { references, schemas, produces }: { references: References; schemas: Schemas; produces: string[] | undefined },
): Announced {
  const responses = objectOf(operation["responses"]);
  const codes = Object.keys(responses).filter((code) => /^2(\d\d|XX)$/i.test(code));
  const good = (codes.length > 0 ? codes.sort() : ["default"])
    .map((code) => references.object(responses[code]))
    .filter((response) => response !== undefined);
  const types: string[] = [];
  let schema: unknown;
  for (const response of good) {
    if (produces !== undefined) {
      types.push(...produces);
      if (produces.length === 0 || produces.some(isJson)) schema ??= response["schema"];
      continue;
    }
    for (const [type, media] of Object.entries(objectOf(response["content"]))) {
      types.push(type);
      if (isJson(type)) schema ??= objectOf(references.object(media))["schema"];
    }
  }
  const out: Announced = {};
  const accept = acceptOf(types);
  if (accept !== undefined) out.accept = accept;
  if (schema === undefined) return out;
  const isRootObject = isObjectSchema(references, schema, 0);
  if (!isRootObject) out.wrap = true;
  const { schema: converted, refs } = schemas.convert(schema);
  // Once in place, a definition is shorter by its name and reference at most.
  if (bytesOfNeeded(refs, schemas, 2 * MAX_OUTPUT) > 2 * MAX_OUTPUT) return out;
  const root: JsonObject = isRootObject ? converted : { type: "object", properties: { result: converted } };
  const assembled = assemble(root, refs, schemas);
  const shaped: JsonObject = { ...assembled, type: "object" };
  if (bytesOf(shaped) <= MAX_OUTPUT) out.outputSchema = shaped;
  return out;
}

function isJson(type: string): boolean {
  return /[/+]json\s*(?:;|$)/i.test(type);
}

/** JSON first, then what else is announced, then anything. */
function acceptOf(types: readonly string[]): string | undefined {
  const clean = [...new Set(types.map((type) => type.replace(/[^\x20-\x7e]|,/g, "").trim()))];
  const usable = clean.filter((type) => /^[\w*.+-]+\/[\w*.+-]+/.test(type) && type !== "*/*");
  if (usable.length === 0) return undefined;
  const sorted = [...usable.filter(isJson), ...usable.filter((type) => !isJson(type))].slice(0, 8);
  return `${sorted.join(", ")}, */*;q=0.1`;
}

/** Whether every answer is an object; what may be something else is put under `result`. */
function isObjectSchema(references: References, schema: unknown, depth: number): boolean {
  const object = references.object(schema);
  if (object === undefined || depth > 8) return false;
  const types = stringsOf([object["type"]].flat());
  if (object["nullable"] === true || types.some((type) => type !== "object")) return false;
  if (types.includes("object")) return true;
  if (Object.keys(objectOf(object["properties"])).length > 0) return true;
  return arrayOf(object["allOf"]).some((part) => isObjectSchema(references, part, depth + 1));
}
