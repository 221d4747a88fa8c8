/** The arguments of a tool -> the message that the agent gets. */
import { randomUUID } from "node:crypto";
import { type Message, type Part, Role, type SendMessageRequest } from "@a2a-js/sdk";
import { type CallContext, isAssetHandle, type JsonObject } from "../contract.ts";
import { arrayOf, isObject, textOf } from "../http-request/json.ts";

/** Bytes of all files of one message, which go inline. */
const MAX_FILES = 16 * 1024 * 1024;

/** What cannot be sent, in words for the caller. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

export interface Continued {
  readonly taskId?: string;
  readonly contextId?: string;
}

/** @param skill id that tells an agent with several skills which one is meant */
export function requestOf(parts: Part[], continued: Continued, skill: string | undefined): SendMessageRequest {
  const message: Message = {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    parts,
    taskId: continued.taskId ?? "",
    contextId: continued.contextId ?? "",
    metadata: skill === undefined ? undefined : { skillId: skill },
    extensions: [],
    referenceTaskIds: [],
  };
  return {
    tenant: "",
    message,
    metadata: undefined,
    // A task is followed from its first sign of life on, so that its name is known however long it takes.
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true },
  };
}

export function textPart(text: string): Part {
  return { content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" };
}

/**
 * The parts that arguments make.
 * @throws NotSent for a file that is none; what reading a kept file throws
 */
export async function partsOf(args: JsonObject, { assets }: Pick<CallContext, "assets">): Promise<Part[]> {
  const parts = [textPart(textOf(args["message"]) ?? "")];
  const { data } = args;
  if (isObject(data)) {
    const content = { $case: "data" as const, value: data };
    parts.push({ content, metadata: undefined, filename: "", mediaType: "application/json" });
  }
  let bytes = 0;
  for (const [index, file] of arrayOf(args["files"]).filter(isObject).entries()) {
    const part = await filePart(file, index + 1, assets, MAX_FILES - bytes);
    if (part.content?.$case === "raw") bytes += part.content.value.length;
    parts.push(part);
  }
  return parts;
}

async function filePart(
  file: JsonObject,
  position: number,
  assets: CallContext["assets"],
  room: number,
): Promise<Part> {
  const { asset, url, data } = file;
  const named = [asset, url, data].filter((source) => source !== undefined && source !== null);
  if (named.length !== 1) throw new NotSent(`file ${position} needs one of asset, url and data.`);
  const about = { metadata: undefined, filename: textOf(file["name"]) ?? "", mediaType: textOf(file["type"]) ?? "" };
  const fits = (size: number) => {
    if (size > room) throw new NotSent(`the files are larger than ${MAX_FILES} bytes together. Give them as url.`);
  };
  if (typeof url === "string") {
    if (!URL.canParse(url) || new URL(url).protocol !== "https:") {
      throw new NotSent(`the url of file ${position} is no https address.`);
    }
    return { ...about, content: { $case: "url", value: url } };
  }
  if (typeof data === "string") {
    if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(data)) throw new NotSent(`the data of file ${position} is not base64.`);
    fits(Math.floor((data.length * 3) / 4));
    return { ...about, content: { $case: "raw", value: Buffer.from(data, "base64") } };
  }
  if (!isAssetHandle(asset)) throw new NotSent(`the asset of file ${position} is no handle of a kept file.`);
  const kept = await assets.read(asset);
  fits(kept.size);
  const content = Buffer.from(await new Response(kept.stream()).arrayBuffer());
  return {
    metadata: undefined,
    filename: about.filename === "" ? kept.name : about.filename,
    mediaType: about.mediaType === "" ? kept.type : about.mediaType,
    content: { $case: "raw", value: content },
  };
}
