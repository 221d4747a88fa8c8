/**
 * Arguments against a tool's input schema. Compiled once per schema hash and kept in a bounded cache.
 * Nothing is fetched: a remote `$ref` fails to compile. A schema that cannot be compiled is not enforced here
 * (the upstream still validates); the reason is told once to the log.
 */
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { isAssetHandle, type JsonObject, type Log } from "../../adapters/contract.ts";
import { nearestName } from "../../adapters/nearest-name.ts";

export interface Schemas {
  /** Undefined where the value fits, else one sentence a model can act on. */
  problem(hash: string, schema: JsonObject, value: unknown): string | undefined;
}

const CACHED = 4096;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const OPTIONS: Options = { strict: false, allErrors: true, validateFormats: true, addUsedSchema: false, logger: false };
const DIALECTS: readonly [RegExp, "draft-07" | "2019-09" | "2020-12"][] = [
  [/draft-0[67]/, "draft-07"],
  [/2019-09/, "2019-09"],
  [/2020-12/, "2020-12"],
];

/** Makes the validators of this process. Errors: none; schemas that cannot be compiled are reported to `log`. */
export function createSchemas(log: Log): Schemas {
  const engines = { "draft-07": new Ajv(OPTIONS), "2019-09": new Ajv2019(OPTIONS), "2020-12": new Ajv2020(OPTIONS) };
  for (const engine of Object.values(engines)) {
    addFormats.default(engine);
    // The handle of a kept file stands where base64 is wanted, and becomes it when the call is sent.
    engine.addFormat("byte", { type: "string", validate: (text: string) => isAssetHandle(text) || BASE64.test(text) });
  }
  const compiled = new Map<string, ValidateFunction | null>();

  function validator(hash: string, schema: JsonObject): ValidateFunction | null {
    const known = compiled.get(hash);
    if (known !== undefined) return known;
    let made: ValidateFunction | null = null;
    try {
      const declared = typeof schema["$schema"] === "string" ? schema["$schema"] : "2020-12";
      const dialect = DIALECTS.find(([pattern]) => pattern.test(declared))?.[1];
      if (!dialect) throw new Error(`unknown JSON Schema dialect ${declared}`);
      // Without its $id a schema cannot collide with another tool's of the same $id.
      const { $id: _id, id: _legacyId, ...anonymous } = schema;
      made = engines[dialect].compile(anonymous);
    } catch (error) {
      log.warn(
        { schemaHash: hash, reason: error instanceof Error ? error.message : String(error) },
        "input schema is not enforced",
      );
    }
    compiled.set(hash, made);
    if (compiled.size > CACHED) compiled.delete(compiled.keys().next().value ?? hash);
    return made;
  }

  return {
    problem(hash, schema, value) {
      const validate = validator(hash, schema);
      if (!validate || validate(value)) return undefined;
      return explain(validate.errors ?? [], schema);
    },
  };
}

function explain(errors: readonly ErrorObject[], schema: JsonObject): string {
  const lines = errors.slice(0, 5).map((error) => {
    const where = error.instancePath === "" ? "arguments" : error.instancePath.slice(1).replaceAll("/", ".");
    const allowed = error.keyword === "enum" ? ` (${JSON.stringify(error.params["allowedValues"]).slice(0, 200)})` : "";
    const extra = error.keyword === "additionalProperties" ? strangerIn(error, schema) : "";
    return `${where}: ${error.message}${extra}${allowed}`;
  });
  const more = errors.length > 5 ? `; and ${errors.length - 5} more` : "";
  return `${lines.join("; ")}${more}`;
}

/** The name that the schema does not know and, for an argument itself, the one that was probably meant. */
function strangerIn(error: ErrorObject, { properties }: JsonObject): string {
  const name = String(error.params["additionalProperty"]);
  const known = error.instancePath === "" && typeof properties === "object" && properties !== null ? properties : {};
  const nearest = nearestName(name, Object.keys(known));
  return nearest === undefined ? ` "${name}"` : ` "${name}" (did you mean "${nearest}"?)`;
}
