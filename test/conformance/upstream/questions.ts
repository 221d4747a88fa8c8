/** The questions that the asking tools put to a client; keys, texts and fields are fixed by the conformance suite. */

import type { ElicitRequestFormParams, InputRequest } from "@modelcontextprotocol/server";
import { inputRequired } from "@modelcontextprotocol/server";

type Fields = ElicitRequestFormParams["requestedSchema"]["properties"];

/** Form fields with a default of every primitive type (SEP-1034). */
export const FIELDS_WITH_DEFAULTS: Fields = {
  name: { type: "string", description: "User name", default: "John Doe" },
  age: { type: "integer", description: "User age", default: 30 },
  score: { type: "number", description: "User score", default: 95.5 },
  status: { type: "string", description: "User status", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", description: "Verification status", default: true },
};

/** The five forms of an enum in a form field (SEP-1330). */
export const ENUM_FIELDS: Fields = {
  untitledSingle: { type: "string", description: "Select one option", enum: ["option1", "option2", "option3"] },
  titledSingle: {
    type: "string",
    description: "Select one option with titles",
    oneOf: [
      { const: "value1", title: "First Option" },
      { const: "value2", title: "Second Option" },
      { const: "value3", title: "Third Option" },
    ],
  },
  legacyEnum: {
    type: "string",
    description: "Select one option (legacy)",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: {
    type: "array",
    description: "Select multiple options",
    minItems: 1,
    maxItems: 3,
    items: { type: "string", enum: ["option1", "option2", "option3"] },
  },
  titledMulti: {
    type: "array",
    description: "Select multiple options with titles",
    minItems: 1,
    maxItems: 3,
    items: {
      anyOf: [
        { const: "value1", title: "First Choice" },
        { const: "value2", title: "Second Choice" },
        { const: "value3", title: "Third Choice" },
      ],
    },
  },
};

/** A form with these fields. */
export function askForm(message: string, properties: Fields, required: string[] = []): InputRequest {
  return inputRequired.elicit({ message, requestedSchema: { type: "object", properties, required } });
}

/** A form with one required field. */
export function askField(message: string, name: string, type: "string" | "boolean"): InputRequest {
  return askForm(message, { [name]: type === "string" ? { type } : { type } }, [name]);
}

/** A request for a completion by the client's model. */
export function askModel(prompt: string): InputRequest {
  return inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: prompt } }],
    maxTokens: 100,
  });
}
