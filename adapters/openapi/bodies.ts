/** The body of one operation: which of the offered media types is sent, and what the argument looks like. */
import type { JsonObject } from "../contract.ts";
import { FILE } from "../http-request/file-argument.ts";
import { arrayOf, isObject, objectOf, stringsOf, textOf } from "../http-request/json.ts";
import type { BodyKind, BodyPlan, FieldPlan, Style } from "../http-request/plan.ts";
import { collectionFormat } from "./parameters.ts";
import type { References } from "./references.ts";

export interface RequestBody {
  plan: BodyPlan;
  schema: unknown;
  description: string | undefined;
}

const ARG = "body";

/** The order in which kinds are preferred where several are offered. */
const PREFERENCE: readonly ((type: string) => boolean)[] = [
  (type) => type === "application/json",
  (type) => /[/+]json$/.test(type) && !type.includes("*") && !/patch\+json$/.test(type),
  (type) => /[/+]json$/.test(type) && !type.includes("*"),
  (type) => type === "application/x-www-form-urlencoded",
  (type) => type === "multipart/form-data",
  (type) => type.startsWith("multipart/"),
  (type) => /^\*\/\*$|^application\/\*/.test(type),
  (type) => type.startsWith("text/") && !/xml$/.test(type),
  (type) => !isXml(type),
];

/** Of OpenAPI 3: `requestBody`. */
export function requestBodyOf(references: References, operation: JsonObject): RequestBody | undefined {
  const body = references.object(operation["requestBody"]);
  if (body === undefined) return undefined;
  const content = objectOf(body["content"]);
  const type = preferred(Object.keys(content));
  const media = references.object(content[type ?? ""]) ?? {};
  const mediaType = safeType(type ?? "application/json");
  const schema = media["schema"];
  const kind = kindOf(mediaType, schema, references);
  const plan: BodyPlan = { arg: ARG, kind, mediaType };
  if (body["required"] === true) plan.required = true;
  const description = textOf(body["description"]);
  if (kind === "binary") return { plan, schema: FILE, description };
  if (kind === "text") return { plan, schema: { type: "string" }, description: described(description, mediaType) };
  if (kind === "json") return { plan, schema: schema ?? {}, description };
  const { fields, schema: shaped } = formOf(references, schema, objectOf(media["encoding"]), kind);
  if (Object.keys(fields).length > 0) plan.fields = fields;
  return { plan, schema: shaped, description };
}

/** Of Swagger 2.0: the parameter `in: body`, or those `in: formData` together. */
export function bodyOfParameters(
  references: References,
  parameters: readonly JsonObject[],
  consumes: readonly string[],
): RequestBody | undefined {
  const whole = parameters.find((parameter) => parameter["in"] === "body");
  if (whole !== undefined) {
    const mediaType = safeType(preferred(consumes) ?? "application/json");
    const kind = kindOf(mediaType, whole["schema"], references);
    const json = kind === "json" || kind === "form" || kind === "multipart";
    const plan: BodyPlan = {
      arg: ARG,
      kind: json ? "json" : kind,
      mediaType: json && kind !== "json" ? "application/json" : mediaType,
    };
    if (whole["required"] === true) plan.required = true;
    const description = textOf(whole["description"]);
    if (plan.kind === "binary") return { plan, schema: FILE, description };
    if (plan.kind === "text")
      return { plan, schema: { type: "string" }, description: described(description, mediaType) };
    return { plan, schema: whole["schema"] ?? {}, description };
  }
  const form = parameters.filter((parameter) => parameter["in"] === "formData");
  if (form.length === 0) return undefined;
  const types = consumes.map((type) => type.toLowerCase());
  const hasFile = form.some((parameter) => parameter["type"] === "file");
  const only = types.some((type) => type.startsWith("multipart/")) && !types.some((type) => /urlencoded/.test(type));
  const kind: BodyKind = hasFile || only ? "multipart" : "form";
  const fields: Record<string, FieldPlan> = {};
  const properties: [string, unknown][] = [];
  for (const parameter of form) {
    const name = String(parameter["name"]);
    if (parameter["type"] === "file") fields[name] = { file: true };
    else if (parameter["type"] === "array") fields[name] = collectionFormat(parameter["collectionFormat"], "query");
    properties.push([name, parameter["type"] === "file" ? { ...FILE, ...textField(parameter) } : parameter]);
  }
  const required = form.filter((parameter) => parameter["required"] === true).map(({ name }) => String(name));
  const mediaType = kind === "form" ? "application/x-www-form-urlencoded" : "multipart/form-data";
  const plan: BodyPlan = { arg: ARG, kind, mediaType };
  if (required.length > 0) plan.required = true;
  if (Object.keys(fields).length > 0) plan.fields = fields;
  return {
    plan,
    schema: { type: "object", properties: Object.fromEntries(properties), required },
    description: undefined,
  };
}

function textField(parameter: JsonObject): JsonObject {
  return typeof parameter["description"] === "string" ? { description: parameter["description"] } : {};
}

function preferred(types: readonly string[]): string | undefined {
  for (const fits of PREFERENCE) {
    const found = types.find((type) => fits(bare(type)));
    if (found !== undefined) return found;
  }
  return types[0];
}

function bare(type: string): string {
  return (type.split(";")[0] ?? "").trim().toLowerCase();
}

/** A media type goes into a header as it is, so it holds nothing that would end the header. */
function safeType(type: string): string {
  const clean = type.replace(/[^\x20-\x7e]+/g, "").trim();
  return clean.includes("/") ? clean : "application/json";
}

function isXml(type: string): boolean {
  return /[/+]xml$/.test(type);
}

function kindOf(mediaType: string, schema: unknown, references: References): BodyKind {
  const type = bare(mediaType);
  if (/[/+]json$/.test(type)) return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  if (type.startsWith("multipart/")) return "multipart";
  if (type === "*/*" || type === "application/*") return isBytes(references.object(schema) ?? {}) ? "binary" : "json";
  if (type.startsWith("text/") || isXml(type) || TEXTUAL.test(type)) return "text";
  return "binary";
}

const TEXTUAL =
  /[/+](?:yaml|x-yaml|csv|graphql|javascript|x-ndjson|ndjson|jsonl|sql|toml|json-seq)$|^application\/(?:jwt|jose|sparql-query)$/;

function described(description: string | undefined, mediaType: string): string {
  const sent = `Sent as it is, as ${mediaType}.`;
  return description === undefined || description === "" ? sent : `${description} ${sent}`;
}

function formOf(
  references: References,
  schema: unknown,
  encoding: JsonObject,
  kind: BodyKind,
): { fields: Record<string, FieldPlan>; schema: unknown } {
  const fields: Record<string, FieldPlan> = {};
  const files = new Set<string>();
  for (const [name, value] of propertiesOf(references, schema, 0)) {
    const field = fieldOf(objectOf(references.object(encoding[name])));
    if (kind === "multipart" && isFile(references, value)) {
      field.file = true;
      files.add(name);
    }
    if (Object.keys(field).length > 0) fields[name] = field;
  }
  if (files.size === 0) return { fields, schema: schema ?? { type: "object" } };
  return { fields, schema: withFiles(references, schema, files) };
}

function fieldOf(encoding: JsonObject): FieldPlan {
  const field: FieldPlan = {};
  const contentType = textOf(encoding["contentType"]);
  if (contentType !== undefined) field.contentType = contentType.replace(/[^\x20-\x7e]+/g, "");
  const styles: readonly Style[] = ["form", "spaceDelimited", "pipeDelimited", "deepObject"];
  const style = styles.find((each) => each === encoding["style"]);
  if (style !== undefined) field.style = style;
  if (typeof encoding["explode"] === "boolean") field.explode = encoding["explode"];
  if (encoding["allowReserved"] === true) field.reserved = true;
  return field;
}

/** The properties of a form, those of the schemas it is composed of included. */
function propertiesOf(references: References, schema: unknown, depth: number): [string, unknown][] {
  const object = references.object(schema);
  if (object === undefined || depth > 8) return [];
  const parts = ["allOf", "anyOf", "oneOf"].flatMap((keyword) => arrayOf(object[keyword]));
  return [
    ...parts.flatMap((part) => propertiesOf(references, part, depth + 1)),
    ...Object.entries(objectOf(object["properties"])),
  ];
}

function isFile(references: References, value: unknown): boolean {
  const object = references.object(value) ?? {};
  if (isBytes(object)) return true;
  return isBytes(references.object(object["items"]) ?? {});
}

/** 2.0 `file`; 3.0 `format: binary`; from 3.1 `contentEncoding`, or `contentMediaType` of something that is no text. */
function isBytes(schema: JsonObject): boolean {
  if (schema["type"] === "file") return true;
  const type = schema["type"] === undefined || stringsOf([schema["type"]].flat()).includes("string");
  if (!type) return false;
  if (schema["format"] === "binary" || schema["format"] === "byte") return true;
  const media = textOf(schema["contentMediaType"]);
  return schema["contentEncoding"] === "base64" || (media !== undefined && !/^text\/|[/+](?:json|xml)$/.test(media));
}

/** The schema of a form in which files are objects that hold them. */
function withFiles(references: References, schema: unknown, files: ReadonlySet<string>): unknown {
  const properties = propertiesOf(references, schema, 0).map(([name, value]): [string, unknown] => {
    if (!files.has(name)) return [name, value];
    const object = references.object(value) ?? {};
    const file = { ...FILE, ...textField(object) };
    return [name, object["type"] === "array" ? { type: "array", items: file, ...textField(object) } : file];
  });
  const required = requiredOf(references, schema, 0);
  return { type: "object", properties: Object.fromEntries(properties), required };
}

function requiredOf(references: References, schema: unknown, depth: number): string[] {
  const object = references.object(schema);
  if (!isObject(object) || depth > 8) return [];
  const parts = arrayOf(object["allOf"]).flatMap((part) => requiredOf(references, part, depth + 1));
  return [...parts, ...stringsOf(object["required"])];
}
