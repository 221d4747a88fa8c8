/** The connections of the real pieces, and the hosts that they ask. */
import { readSpec, shortName } from "../../server/pieces/names.ts";
import { REAL_PIECES } from "./list.ts";

/** The token, key or password of a connection; a service has to get exactly this. */
export const secretOf = (piece: string) => `secret-of-${piece}-0123456789`;
const variable = (piece: string) => `SECRET_${piece.toUpperCase().replaceAll("-", "_")}`;
const named = (piece: string) => `\${env:${variable(piece)}}`;

/** Ways to authenticate that are no single secret. */
const AUTH: Readonly<Record<string, object>> = {
  hackernews: { method: "none" },
  discord: { method: "none" },
  "image-helper": { method: "none" },
  trello: { method: "basic", username: "trello-key", secret: named("trello") },
  twilio: { method: "basic", username: "AC1", secret: named("twilio") },
  pdfcrowd: { method: "basic", username: "crowd", secret: named("pdfcrowd") },
  mastodon: fields("mastodon", "access_token", { base_url: "https://mastodon.example" }),
  openai: fields("openai", "apiKey", { baseUrl: "https://api.openai.com/v1" }),
  "amazon-s3": fields("amazon-s3", "secretAccessKey", { accessKeyId: "AKEY", bucket: "bucket", region: "us-east-1" }),
  freshdesk: fields("freshdesk", "access_token", { base_url: "https://acme.freshdesk.com" }),
  ghostcms: fields("ghostcms", "apiKey", { baseUrl: "https://ghost.example" }),
  intercom: fields("intercom", "accessToken", { region: "intercom" }),
  notion: fields("notion", "accessToken", {}),
  shopify: fields("shopify", "adminToken", { shopName: "acme" }),
  slack: fields("slack", "botToken", {}),
  woocommerce: fields("woocommerce", "consumerSecret", { baseUrl: "https://shop.example", consumerKey: "ck" }),
  wordpress: fields("wordpress", "password", { username: "editor", website_url: "https://blog.example" }),
};

/** Actions that their authors made for people and that are called here. */
const EXPOSE: Readonly<Record<string, string[]>> = {
  "mistral-ai": ["*", "custom_api_call"],
  notion: ["*", "create_database_item"],
  slack: ["*", "send_channel_message"],
};

function fields(piece: string, secret: string, others: Record<string, string>): object {
  return { method: "fields", fields: { ...others, [secret]: named(piece) } };
}

export const PIECES = REAL_PIECES.map((spec) => shortName(readSpec(spec)?.name ?? ""));

/** `connections/<piece>.yml`. */
export const CONNECTIONS = Object.fromEntries(
  PIECES.map((piece) => [
    piece,
    {
      type: "ap",
      piece,
      auth: AUTH[piece] ?? { method: "bearer", secret: named(piece) },
      access: "suggested",
      ...(EXPOSE[piece] === undefined ? {} : { expose: EXPOSE[piece] }),
    },
  ]),
);

/** `jackfield.yml`. */
export const OFFERS = `version: 1\nactivepieces:\n  pieces: ${JSON.stringify(REAL_PIECES)}\n`;

/** What the files name as `${env:NAME}`. A key of Ghost has a form of its own. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(PIECES.map((piece) => [variable(piece), secretOf(piece)])),
  [variable("ghostcms")]: `6489f2:${"ab".repeat(32)}`,
};

export const HOSTS = [
  ..."api.airtable.com app.asana.com api.clickup.com discord.com api.dropboxapi.com content.dropboxapi.com".split(" "),
  ..."gmail.googleapis.com www.googleapis.com sheets.googleapis.com hacker-news.firebaseio.com api.hubapi.com".split(
    " ",
  ),
  ..."api.pipedrive.com acme.pipedrive.com api.sendgrid.com api.telegram.org api.trello.com api.twilio.com".split(" "),
  ..."bucket.s3.us-east-1.amazonaws.com s3.us-east-1.amazonaws.com api.figma.com acme.freshdesk.com".split(" "),
  ..."mastodon.example api.openai.com api.todoist.com api.deepseek.com ghost.example api.imagerouter.io".split(" "),
  ..."ir-api.myqa.cc api.intercom.io api.mistral.ai api.usemotion.com api.notion.com api.pdfcrowd.com".split(" "),
  ..."acme.myshopify.com slack.com files.slack.com api.webflow.com shop.example blog.example".split(" "),
  ..."www.zohoapis.com files.imagerouter.io apis.google.com people.googleapis.com".split(" "),
];
