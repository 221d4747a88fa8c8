/** Choices that are looked up before a call. */
import { bearer, byPath, type Case, request, says } from "./case.ts";

export const LOOKUPS: readonly Case[] = [
  {
    piece: "slack",
    action: "resolve_options",
    note: "channels, for a public name of a tool",
    args: { action: "slack__send_channel_message", prop: "channel" },
    answer: says({ ok: true, channels: [{ id: "C1", name: "general" }], response_metadata: {} }),
    asked: [request({ line: "POST slack.com/api/conversations.list", headers: bearer("slack") })],
    result: /general/,
  },
  {
    piece: "todoist",
    action: "resolve_options",
    note: "projects",
    args: { action: "create_task", prop: "project_id" },
    answer: says([{ id: "p1", name: "Inbox" }]),
    asked: [request({ line: "GET api.todoist.com/rest/v2/projects", headers: bearer("todoist") })],
    result: /Inbox/,
  },
  {
    piece: "airtable",
    action: "resolve_options",
    note: "bases, with the credential as an argument",
    args: { action: "airtable_create_record", prop: "base" },
    answer: says({ bases: [{ id: "b1", name: "Sales" }] }),
    asked: [request({ line: "GET api.airtable.com/v0/meta/bases", headers: bearer("airtable") })],
    result: /Sales/,
  },
  {
    piece: "airtable",
    action: "resolve_options",
    note: "fields that depend on a table",
    args: { action: "airtable_create_record", prop: "fields", values: { base: "b1", tableId: "t1" } },
    answer: byPath({
      "/meta/bases/b1/tables": {
        tables: [{ id: "t1", name: "T", fields: [{ id: "f1", name: "Name", type: "singleLineText" }] }],
      },
    }),
    asked: [request({ line: "GET api.airtable.com/v0/meta/bases/b1/tables", headers: bearer("airtable") })],
    result: /Name/,
  },
  {
    piece: "notion",
    action: "resolve_options",
    note: "fields of a database",
    args: { action: "create_database_item", prop: "databaseFields", values: { database_id: "d1" } },
    answer: byPath({
      "/databases/d1": {
        object: "database",
        id: "d1",
        properties: {
          Name: { id: "a", name: "Name", type: "title" },
          Done: { id: "b", name: "Done", type: "checkbox" },
        },
      },
    }),
    asked: [request({ line: "GET api.notion.com/v1/databases/d1", headers: bearer("notion") })],
    result: /boolean/,
  },
  {
    piece: "mistral-ai",
    action: "resolve_options",
    note: "models",
    args: { action: "create_chat_completion", prop: "model" },
    answer: says({ data: [{ id: "mistral-small", name: "m", capabilities: { completion_chat: true } }] }),
    asked: [request({ line: "GET api.mistral.ai/v1/models", headers: bearer("mistral-ai") })],
    result: /mistral-small/,
  },
];
