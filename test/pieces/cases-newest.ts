/** Pieces that come as one file: the credential in an envelope that says what it is. */

import { basic, bearer, byPath, type Case, request, says } from "./case.ts";
import { secretOf } from "./connections.ts";

/** A picture of one dot. */
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PONG = says({ id: "c", choices: [{ message: { role: "assistant", content: "pong" } }] });

const SLACK: readonly Case[] = [
  {
    piece: "slack",
    action: "slack_post_message",
    args: { channel: "C1", text: "hello" },
    answer: says({ ok: true, ts: "1.2", channel: "C1", message: {} }),
    asked: [request({ line: "POST slack.com/api/chat.postMessage", headers: bearer("slack"), body: "hello" })],
  },
  {
    piece: "slack",
    action: "send_channel_message",
    note: "made for people, named in full",
    args: { channel: "C1", text: "hello" },
    answer: says({ ok: true, ts: "1.2", channel: "C1", message: {} }),
    asked: [request({ line: "POST slack.com/api/chat.postMessage", headers: bearer("slack") })],
  },
  {
    piece: "slack",
    action: "uploadFile",
    note: "in three steps",
    args: {
      file: { base64: Buffer.from("hello").toString("base64"), filename: "a.txt" },
      title: "t",
      filename: "a.txt",
      channel: "C1",
    },
    answer: ({ path }) => {
      if (path.includes("getUploadURL")) {
        return { body: { ok: true, upload_url: "https://files.slack.com/upload/v1/X", file_id: "F1" } };
      }
      return path.includes("/upload/v1") ? { body: "OK - 5" } : { body: { ok: true, files: [{ id: "F1" }] } };
    },
    asked: [
      request({ line: "POST slack.com/api/files.getUploadURLExternal", headers: bearer("slack") }),
      request({ line: "POST files.slack.com/upload/v1/X", body: "hello" }),
      request({ line: "POST slack.com/api/files.completeUploadExternal", headers: bearer("slack"), body: "F1" }),
    ],
  },
  {
    piece: "slack",
    action: "markdownToSlackFormat",
    note: "nothing is asked",
    args: { markdown: "**bold**" },
    asked: [],
    result: /\*bold\*/,
  },
];

export const NEWEST: readonly Case[] = [
  ...SLACK,
  {
    piece: "deepseek",
    action: "ask_deepseek",
    args: { prompt: "hi" },
    answer: PONG,
    asked: [
      request({
        line: "POST api.deepseek.com/chat/completions",
        headers: bearer("deepseek"),
        body: { model: "deepseek-chat" },
      }),
    ],
    result: /pong/,
  },
  {
    piece: "notion",
    action: "notion_get_page",
    args: { page_id: "11111111-1111-1111-1111-111111111111" },
    answer: says({ object: "page", id: "1", properties: {} }),
    asked: [
      request({
        line: "GET api.notion.com/v1/pages/11111111-1111-1111-1111-111111111111",
        headers: { ...bearer("notion"), "notion-version": /^\d{4}-/ },
      }),
    ],
  },
  {
    piece: "mistral-ai",
    action: "create_chat_completion",
    args: { model: "mistral-small", prompt: "hi" },
    answer: PONG,
    asked: [request({ line: "POST api.mistral.ai/v1/chat/completions", headers: bearer("mistral-ai") })],
    result: /pong/,
  },
  {
    piece: "mistral-ai",
    action: "upload_file",
    note: "as multipart",
    args: { file: { base64: Buffer.from("hello").toString("base64"), filename: "a.jsonl" }, purpose: "fine-tune" },
    answer: says({ id: "file-1" }),
    asked: [
      request({
        line: "POST api.mistral.ai/v1/files",
        headers: { ...bearer("mistral-ai"), "content-type": /^multipart\/form-data; boundary=/ },
        body: "hello",
      }),
    ],
    result: /file-1/,
  },
  {
    piece: "mistral-ai",
    action: "custom_api_call",
    note: "asked for by name",
    args: { url: { url: "https://api.mistral.ai/v1/models" }, method: "GET", headers: {}, queryParams: {} },
    answer: says({ data: [] }),
    asked: [request({ line: "GET api.mistral.ai/v1/models", headers: bearer("mistral-ai") })],
  },
  {
    piece: "shopify",
    action: "get_customer",
    args: { customerId: 7 },
    answer: says({ customer: { id: 7 } }),
    asked: [
      request({
        line: "GET acme.myshopify.com/admin/api/2023-10/customers/7.json",
        headers: { "x-shopify-access-token": secretOf("shopify") },
      }),
    ],
  },
  {
    piece: "woocommerce",
    action: "list_customers",
    args: { email: "a@b.example", page: 1, per_page: "5" },
    answer: says([{ id: 1, url: "https://shop.example/customers/1" }]),
    asked: [
      request({
        line: "GET shop.example/wp-json/wc/v3/customers",
        query: { email: "a@b.example", per_page: "5" },
        headers: basic("ck", "woocommerce"),
      }),
    ],
    result: /shop\.example/,
  },
  {
    piece: "woocommerce",
    action: "create_customer",
    args: { email: "a@b.example", first_name: "Ann" },
    answer: says({ id: 2 }),
    asked: [
      request({
        line: "POST shop.example/wp-json/wc/v3/customers",
        headers: basic("ck", "woocommerce"),
        body: { email: "a@b.example", first_name: "Ann" },
      }),
    ],
  },
  {
    piece: "intercom",
    action: "create-or-update-user",
    args: { email: "a@b.example", name: "Ann" },
    answer: ({ path }) =>
      path.includes("search")
        ? { body: { type: "list", data: [], total_count: 0, pages: {} } }
        : { body: { type: "contact", id: "1" } },
    asked: [
      request({ line: "POST api.intercom.io/contacts/search", headers: bearer("intercom") }),
      request({ line: "POST api.intercom.io/contacts", headers: bearer("intercom"), body: { email: "a@b.example" } }),
    ],
  },
  {
    piece: "wordpress",
    action: "get_post_by_id",
    args: { post_id: "3" },
    answer: says({ id: 3, title: { rendered: "T" } }),
    asked: [request({ line: "GET blog.example/wp-json/wp/v2/posts/3", headers: basic("editor", "wordpress") })],
  },
  {
    piece: "wordpress",
    action: "create_category",
    args: { name: "News" },
    answer: says({ id: 4 }),
    asked: [
      request({
        line: "POST blog.example/wp-json/wp/v2/categories",
        headers: basic("editor", "wordpress"),
        body: "News",
      }),
    ],
  },
  {
    piece: "ghostcms",
    action: "find_member",
    note: "with a signed token of its own",
    args: { email: "a@b.example" },
    answer: says({ members: [] }),
    asked: [
      request({
        line: "GET ghost.example/ghost/api/admin/members",
        headers: { authorization: /^Ghost eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+$/ },
      }),
    ],
  },
  {
    piece: "pdfcrowd",
    action: "html_to_pdf",
    note: "as multipart, a file back",
    args: { htmlContent: "<b>x</b>" },
    answer: says("%PDF-1", { headers: { "content-type": "application/pdf" } }),
    asked: [
      request({
        line: "POST api.pdfcrowd.com/convert/24.04/",
        headers: { ...basic("crowd", "pdfcrowd"), "content-type": /^multipart\/form-data; boundary=/ },
        body: "<b>x</b>",
      }),
    ],
    result: /asset:\/\//,
  },
  {
    piece: "webflow",
    action: "find_collection_item",
    args: { site_id: "s", collection_id: "c", field_name: "name", field_value: "x", max_results: 3 },
    answer: says({ items: [], pagination: { total: 0 } }),
    asked: [request({ line: "GET api.webflow.com/collections/c/items", headers: bearer("webflow") })],
  },
  {
    piece: "zoho-bookings",
    action: "fetchAvailability",
    args: { workspace_id: "w", service_id: "s", staff_id: "t", selected_date: "2026-01-01" },
    answer: says({ response: { returnvalue: { data: [] } } }),
    asked: [
      request({
        line: "GET www.zohoapis.com/bookings/v1/json/availableslots",
        headers: { authorization: `Zoho-oauthtoken ${secretOf("zoho-bookings")}` },
      }),
    ],
  },
  {
    piece: "motion",
    action: "get-task",
    args: { taskId: "t1" },
    answer: says({ id: "t1" }),
    asked: [request({ line: "GET api.usemotion.com/v1/tasks/t1", headers: { "x-api-key": secretOf("motion") } })],
  },
  {
    piece: "image-router",
    action: "createImage",
    args: { prompt: "cat", model: "m", responseFormat: "url" },
    answer: byPath({ "/": { data: [{ url: "https://files.imagerouter.io/x.png" }] } }),
    asked: [
      request({
        line: "POST api.imagerouter.io/v1/openai/images/generations",
        headers: bearer("image-router"),
        body: { prompt: "cat" },
      }),
      request({ line: "GET files.imagerouter.io/x.png" }),
    ],
  },
  {
    piece: "image-helper",
    action: "resize_image",
    note: "nothing is asked, a file in and a file out",
    args: { image: { base64: DOT, filename: "dot.png" }, width: 2, height: 2, aspectRatio: false },
    asked: [],
    result: /asset:\/\//,
  },
];
