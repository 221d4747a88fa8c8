/** The keys of connections of type `http`: endpoints that somebody declares by hand. */
import { z } from "zod";
import { headerProblems } from "./header-rules.ts";

const text = z.string().min(1).max(2000);
const token = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "is not a header name");
const argument = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/, "is not a name for an argument");
const values = z.record(text, z.string());

const BODIES = ["json", "form", "multipart", "file"] as const;

const endpoint = z
  .strictObject({
    name: z.string().regex(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/, "must be letters, digits, _ . and -, a letter first"),
    title: z.string().min(1).max(100).optional(),
    description: z.string().min(1).max(1024).optional(),
    method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]),
    path: z.string().regex(/^\/[^#\s]*$/, "must begin with / and hold neither # nor blanks"),
    arguments: z.record(argument, z.record(z.string(), z.json())).optional(),
    required: z.array(argument).optional(),
    query: values.optional(),
    headers: z.record(token, z.string()).optional(),
    json: z.json().optional(),
    form: values.optional(),
    multipart: values.optional(),
    file: z
      .string()
      .regex(/^\{[^{}]+\}$/, "must be {name}, the argument that is the file")
      .optional(),
    pick: z
      .string()
      .regex(/^\/|^$/, "must be a JSON Pointer, as /data/items")
      .optional(),
    class: z.enum(["read", "write"]).optional(),
  })
  .superRefine((value, context) => {
    const wrong = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    const bodies = BODIES.filter((key) => value[key] !== undefined);
    const [first, second] = bodies;
    if (second !== undefined) wrong([second], `goes without ${first}`);
    const bodiless = value.method === "GET" || value.method === "HEAD";
    for (const key of bodies) if (bodiless) wrong([key], `a ${value.method} request has no body`);
    const declared = new Set(Object.keys(value.arguments ?? {}));
    for (const name of value.required ?? []) {
      if (!declared.has(name)) wrong(["required"], `there is no argument ${name}`);
    }
    for (const { name, message } of headerProblems(value.headers ?? {})) wrong(["headers", name], message);
    for (const segment of value.path.split(/[/?]/)) {
      if (/^(?:\.|%2e){1,2}$/i.test(segment)) wrong(["path"], "must not hold . or .. as a part");
    }
  });

/** `endpoints` of an `http` connection; a name stands once. */
export const httpEndpoints = z
  .array(endpoint)
  .min(1)
  .max(500)
  .superRefine((endpoints, context) => {
    const seen = new Set<string>();
    for (const [index, { name }] of endpoints.entries()) {
      if (seen.has(name)) context.addIssue({ code: "custom", path: [index, "name"], message: "stands here twice" });
      seen.add(name);
    }
  });
