/** All calls of real actions, by generation of the framework. */

import { basic, bearer, byPath, type Case, request, says } from "./case.ts";
import { NEWEST } from "./cases-newest.ts";
import { LOOKUPS } from "./cases-options.ts";
import { secretOf } from "./connections.ts";

/** Framework 0.2: the credential is an argument of each action. */
const OLDEST: readonly Case[] = [
  {
    piece: "discord",
    action: "send_message_webhook",
    args: { webhook_url: "https://discord.com/api/webhooks/1/abc", content: "hi" },
    answer: says("", { status: 204 }),
    asked: [request({ line: "POST discord.com/api/webhooks/1/abc", body: { content: "hi" } })],
  },
  {
    piece: "telegram-bot",
    action: "send_text_message",
    args: { chat_id: 5, message: "hello" },
    answer: says({ ok: true }),
    asked: [
      request({
        line: `POST api.telegram.org/bot${secretOf("telegram-bot")}/sendMessage`,
        body: { chat_id: "5", text: "hello" },
      }),
    ],
  },
  {
    piece: "hubspot",
    action: "create_contact",
    args: { firstName: "Ann", lastName: "Lee", email: "ann@acme.example" },
    answer: says({ id: 1 }),
    asked: [
      request({
        line: "POST api.hubapi.com/contacts/v1/contact/",
        headers: bearer("hubspot"),
        body: "ann@acme.example",
      }),
    ],
  },
  {
    piece: "gmail",
    action: "send_email",
    args: { receiver: "ann@acme.example", subject: "Grüße", body_text: "text", body_html: "" },
    answer: says({ id: "m1" }),
    asked: [request({ line: "POST gmail.googleapis.com/gmail/v1/users/me/messages/send", headers: bearer("gmail") })],
    result: /m1/,
  },
  {
    piece: "google-sheets",
    action: "insert_row",
    args: { spreadsheet_id: "S1", sheet_id: 0, values: ["a", "b"], as_string: "true" },
    answer: ({ method }) =>
      method === "GET"
        ? { body: { sheets: [{ properties: { sheetId: 0, title: "Tab" } }] } }
        : { body: { updates: 1 } },
    asked: [
      request({ line: "GET sheets.googleapis.com/v4/spreadsheets/S1", headers: bearer("google-sheets") }),
      request({
        line: "POST sheets.googleapis.com/v4/spreadsheets/S1/values/Tab:append",
        body: '"a"',
      }),
    ],
  },
  {
    piece: "google-drive",
    action: "create_new_gdrive_folder",
    args: { folderName: "Reports" },
    answer: says({ id: "f1" }),
    asked: [
      request({
        line: "POST www.googleapis.com/drive/v3/files",
        headers: bearer("google-drive"),
        body: { name: "Reports" },
      }),
    ],
  },
  {
    piece: "trello",
    action: "get_card",
    args: { cardId: "c9" },
    answer: says({ id: "c9" }),
    asked: [
      request({
        line: "GET api.trello.com/1/cards/c9",
        query: { key: "trello-key", token: secretOf("trello") },
      }),
    ],
    result: /c9/,
  },
  {
    piece: "trello",
    action: "create_card",
    args: { board_id: "b1", list_id: "l1", name: "Card", description: "words" },
    answer: says({ id: "c1" }),
    asked: [
      request({
        line: "POST api.trello.com/1/cards",
        query: { token: secretOf("trello"), idList: "l1" },
        body: { name: "Card", desc: "words" },
      }),
    ],
  },
  {
    piece: "twilio",
    action: "send_sms",
    args: { from: "+1", to: "+2", body: "yo" },
    answer: says({ sid: "SM1" }),
    asked: [
      request({
        line: "POST api.twilio.com/2010-04-01/Accounts/AC1/Messages.json",
        headers: basic("AC1", "twilio"),
        body: { From: "+1", To: "+2", Body: "yo" },
      }),
    ],
  },
  {
    piece: "sendgrid",
    action: "send_email",
    args: { to: "a@b.example", from: "f@g.example", subject: "s", content_type: "text/plain", content: "c" },
    answer: says("", { status: 202 }),
    asked: [request({ line: "POST api.sendgrid.com/v3/mail/send", headers: bearer("sendgrid"), body: "a@b.example" })],
  },
  {
    piece: "clickup",
    action: "get_task_comments",
    args: { task_id: "t1" },
    answer: says({ comments: [] }),
    asked: [request({ line: "GET api.clickup.com/api/v2//task/t1/comment", headers: bearer("clickup") })],
  },
  {
    piece: "hackernews",
    action: "fetch_top_stories",
    note: "without a credential",
    args: { number_of_stories: "1" },
    answer: byPath({ topstories: [7], "item/7": { id: 7, title: "Something new" } }),
    asked: [
      request({ line: "GET hacker-news.firebaseio.com/v0/topstories.json" }),
      request({ line: "GET hacker-news.firebaseio.com/v0/item/7.json" }),
    ],
    result: /Something new/,
  },
  {
    piece: "asana",
    action: "create_task",
    args: { workspace: "w1", project: "p1", name: "Write", notes: "soon" },
    answer: says({ data: { gid: "1" } }),
    asked: [
      request({
        line: "POST app.asana.com/api/1.0/tasks",
        headers: bearer("asana"),
        body: { data: { name: "Write" } },
      }),
    ],
  },
  {
    piece: "dropbox",
    action: "create_new_dropbox_folder",
    args: { path: "/reports" },
    answer: says({ metadata: { id: "1" } }),
    asked: [
      request({
        line: "POST api.dropboxapi.com/2/files/create_folder_v2",
        headers: bearer("dropbox"),
        body: { path: "/reports" },
      }),
    ],
  },
  {
    piece: "airtable",
    action: "airtable_create_record",
    note: "with dynamic fields",
    args: {
      base: "b1",
      tableId: "t1",
      fields: { f1: "Ann" },
    },
    answer: says({ id: "rec1" }),
    asked: [request({ line: "POST api.airtable.com/v0/b1/t1", headers: bearer("airtable"), body: "Ann" })],
  },
];

/** Framework 0.4 to 0.25: the credential is the piece's, and reaches the code as it is. */
const MIDDLE: readonly Case[] = [
  {
    piece: "todoist",
    action: "create_task",
    args: { content: "buy", project_id: "p1", labels: [], priority: "1" },
    answer: says({ id: "1" }),
    asked: [
      request({
        line: "POST api.todoist.com/rest/v2/tasks",
        headers: bearer("todoist"),
        body: { content: "buy", project_id: "p1", priority: 1 },
      }),
    ],
  },
  {
    piece: "mastodon",
    action: "post_status",
    args: { status: "toot" },
    answer: says({ id: "1" }),
    asked: [
      request({ line: "POST mastodon.example/api/v1/statuses", headers: bearer("mastodon"), body: { status: "toot" } }),
    ],
  },
  {
    piece: "openai",
    action: "ask_chatgpt",
    note: "with the author's defaults",
    args: { prompt: "hi", model: "gpt-4o" },
    answer: says({ id: "c", choices: [{ message: { role: "assistant", content: "pong" } }] }),
    asked: [
      request({
        line: "POST api.openai.com/v1/chat/completions",
        headers: bearer("openai"),
        body: { model: "gpt-4o", max_tokens: 2048, presence_penalty: 0.6 },
      }),
    ],
    result: /pong/,
  },
  {
    piece: "amazon-s3",
    action: "read-file",
    note: "signed as AWS does",
    args: { key: "dir/f.txt" },
    answer: says("file-bytes", { headers: { "content-type": "text/plain" } }),
    asked: [
      request({
        line: "GET bucket.s3.us-east-1.amazonaws.com/dir/f.txt",
        headers: { authorization: /^AWS4-HMAC-SHA256 Credential=AKEY\/\d{8}\/us-east-1\/s3\/aws4_request/ },
      }),
    ],
    result: /asset:\/\//,
  },
  {
    piece: "amazon-s3",
    action: "upload-file",
    note: "a file by its bytes",
    args: {
      file: { base64: Buffer.from("hello").toString("base64"), filename: "a.txt" },
      fileName: "a",
      type: "text/plain",
    },
    answer: says("", { headers: { etag: '"1"' } }),
    asked: [
      request({
        line: "PUT bucket.s3.us-east-1.amazonaws.com/a.plain",
        headers: { authorization: /^AWS4-HMAC-SHA256 Credential=AKEY/ },
        body: "hello",
      }),
    ],
  },
  {
    piece: "figma",
    action: "post_comment",
    args: { file_key: "F1", message: "nice" },
    answer: says({ id: "1" }),
    asked: [
      request({ line: "POST api.figma.com/v1/files/F1/comments", headers: bearer("figma"), body: { message: "nice" } }),
    ],
  },
  {
    piece: "freshdesk",
    action: "get_contact_from_id",
    args: { contactid: 7 },
    answer: says({ id: 7 }),
    asked: [
      request({ line: "GET acme.freshdesk.com/api/v2/contacts/7", headers: { authorization: secretOf("freshdesk") } }),
    ],
  },
];

export const CASES: readonly Case[] = [...OLDEST, ...MIDDLE, ...NEWEST, ...LOOKUPS];
