import type { JsonObject } from "../contract.ts";

/** The schema of an argument that is a file, as `body.ts` takes it. */
export const FILE: JsonObject = {
  type: "object",
  description: "A file",
  required: ["data"],
  properties: {
    data: { type: "string", description: "asset:// handle or base64" },
    filename: { type: "string" },
    contentType: { type: "string" },
  },
};
