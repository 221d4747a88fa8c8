/** `tool_read` with the handle of a kept file in place of a tool's name: the rest of a long result, or a picture. */
import { isAssetHandle, type JsonObject } from "../../../adapters/contract.ts";
import { MAX_SHOWN } from "../../../adapters/kept-file.ts";
import { JackfieldError } from "../../errors.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import { MAX_TEXT, PREVIEW } from "../../gateway/keep-large.ts";
import { readAsset } from "../../gateway/read-asset.ts";
import { failure } from "../../gateway/results.ts";
import { missingScope, scopeRefused } from "../../gateway/step-up.ts";
import type { Face } from "../face.ts";

/** Whether a name is a handle, which a tool's never is. */
export function namesAsset(name: string): boolean {
  return isAssetHandle(name);
}

/** Arguments: `offset` and `length` in bytes. Failures are results. */
export async function runReadAsset(
  face: Face,
  caller: GatewayCaller,
  handle: string,
  args: unknown,
): Promise<JsonObject> {
  const given: JsonObject = typeof args === "object" && args !== null ? { ...args } : {};
  const number = (key: string, otherwise: number) => {
    const value = given[key] ?? otherwise;
    return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  };
  const offset = number("offset", 0);
  const length = number("length", PREVIEW);
  if (offset === undefined || length === undefined) {
    return failure("invalid_arguments", "offset and length are numbers of bytes: whole, and not negative.");
  }
  try {
    const most = Math.min(Math.max(length, 1), MAX_TEXT);
    const part = await readAsset(face.gateway, caller, { handle, offset, length: most, door: "tool_read" });
    const { asset, text, bytes, next } = part;
    if (text !== undefined) {
      const end = part.offset + bytes.length;
      const more = next === undefined ? "the end." : `go on with {"offset": ${next}}.`;
      const note = `[Bytes ${part.offset} to ${end} of ${asset.size}; ${more}]`;
      return { content: [{ type: "text", text: `${text}\n${note}` }] };
    }
    const media = /^(image|audio)\//.exec(asset.type)?.[1];
    if (media !== undefined && asset.size <= MAX_SHOWN) {
      const whole = await readAsset(face.gateway, caller, { handle, door: "tool_read" });
      return { content: [{ type: media, data: whole.bytes.toString("base64"), mimeType: asset.type }] };
    }
    const words = `${JSON.stringify(asset.name)} is a file of ${asset.type} with ${asset.size} bytes, which cannot be read as text. Give ${handle} to a tool that takes a file.`;
    return {
      content: [
        { type: "text", text: words },
        { type: "resource_link", uri: handle, name: asset.name, mimeType: asset.type, size: asset.size },
      ],
    };
  } catch (error) {
    if (!(error instanceof JackfieldError)) throw error;
    if (error.code !== "scope_missing") return failure(error.code, error.message);
    return scopeRefused(missingScope(face.gateway.stepUp, caller.principal, "mcp:read"));
  }
}
