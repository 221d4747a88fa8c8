/**
 * How one operation of an HTTP API is called, as plain JSON. The OpenAPI adapter makes it of a document, the HTTP
 * adapter of a connection's own endpoints; `build.ts` makes requests of it.
 */

export type Place = "path" | "query" | "querystring" | "header" | "cookie";

/** OpenAPI 3.2, 4.12.6 "Style Values"; `tabDelimited` is `tsv` of 2.0. */
export type Style =
  | "simple"
  | "label"
  | "matrix"
  | "form"
  | "spaceDelimited"
  | "pipeDelimited"
  | "tabDelimited"
  | "deepObject"
  | "cookie";

export interface ParameterPlan {
  /** Key among the arguments. */
  arg: string;
  /** Name on the wire. */
  name: string;
  in: Place;
  style: Style;
  explode: boolean;
  /** Reserved characters stay as they are. */
  reserved?: true;
  /** The value goes as JSON (a parameter with `content`). */
  json?: true;
  required?: true;
}

export type BodyKind = "json" | "form" | "multipart" | "text" | "binary";

/** How one property of a form is written. */
export interface FieldPlan {
  contentType?: string;
  style?: Style;
  explode?: boolean;
  reserved?: true;
  /** Bytes: an object `{data, filename?, contentType?}`, or a list of such. */
  file?: true;
}

export interface BodyPlan {
  arg: string;
  kind: BodyKind;
  /** As the document declares it, with its parameters. */
  mediaType: string;
  required?: true;
  fields?: Record<string, FieldPlan>;
}

export interface OperationPlan {
  /** Upper case. */
  method: string;
  /** Template as the document writes it, with a query or fragment where it has one: the identity of the operation. */
  path: string;
  /** Absolute URL that the path is appended to. */
  server: string;
  parameters: ParameterPlan[];
  body?: BodyPlan;
  /**
   * Names of security schemes: any one of these lists, and all of that list. Empty: nothing is sent. Absent: the
   * document says nothing.
   */
  security?: string[][];
  accept?: string;
  /** The answer's JSON is put under `result` whatever it is, because the output schema says so. */
  wrap?: true;
  /** JSON Pointer of the part of the answer that is passed on. */
  pick?: string;
  /** Header that takes one fresh key per call. */
  idempotency?: string;
  /** Headers with fixed values. */
  headers?: Record<string, string>;
}

/** A security scheme as far as it says where a credential goes. */
export type SchemePlan =
  | { type: "apiKey"; in: "header" | "query" | "cookie"; name: string }
  | { type: "basic" }
  | { type: "bearer" }
  | { type: "other"; what: string };

/** How lists inside a `deepObject` are written; OpenAPI leaves it open. */
export type DeepLists = "repeat" | "brackets" | "indexed";
