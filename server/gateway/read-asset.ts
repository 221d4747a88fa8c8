/** Reading a kept file by its handle: `resources/read` for clients, `tool_read` for models. */
import type { ReadableAsset } from "../../adapters/contract.ts";
import { isTextType } from "../../adapters/media-types.ts";
import { JackfieldError } from "../errors.ts";
import type { Gateway } from "./call.ts";
import { describeCaller } from "./call-events.ts";
import { assetOwner, type Door, type GatewayCaller } from "./caller.ts";
import { wholeCharacters } from "./keep-large.ts";
import { missingScope, scopeError } from "./step-up.ts";

/** A part of a kept file, or the whole. */
export interface AssetPart {
  readonly asset: ReadableAsset;
  readonly bytes: Buffer;
  /** Where the part begins, in bytes. */
  readonly offset: number;
  /** Where the next part begins; absent at the end. */
  readonly next?: number;
  /** The part as text, where the file is text. */
  readonly text?: string;
}

export interface AssetReading {
  readonly handle: string;
  /** First byte; default 0. In text it moves to the beginning of a character. */
  readonly offset?: number;
  /** Bytes at most. */
  readonly length?: number;
  readonly door: Extract<Door, "resource" | "tool_read">;
}

/** Bytes of one answer. */
export const MOST = 8 * 1024 * 1024;
const RANGE = /^(asset:\/\/[A-Za-z0-9_-]{24})(?:\?(.*))?$/;

/** The handle and range of an address; undefined for an address that is no kept file's. */
export function parseAssetUri(uri: string): Omit<AssetReading, "door"> | undefined {
  const [, handle, query = ""] = RANGE.exec(uri) ?? [];
  if (handle === undefined) return undefined;
  const parameters = new URLSearchParams(query);
  const number = (name: string) => {
    const value = parameters.get(name);
    if (value === null) return {};
    if (!/^\d{1,15}$/.test(value)) {
      throw new JackfieldError("asset_not_found", {
        text: `${name} must be a number of bytes, not ${value.slice(0, 40)}.`,
      });
    }
    return { [name]: Number(value) };
  };
  return { handle, ...number("offset"), ...number("length") };
}

/**
 * Reads a file of the caller, where the endpoint allows it and serves the connection that the file came from.
 * @throws JackfieldError `scope_missing`, `asset_not_found`, `asset_damaged`, `asset_unavailable`, and
 *   `asset_too_large` for more than one answer takes
 */
export async function readAsset(gateway: Gateway, caller: GatewayCaller, reading: AssetReading): Promise<AssetPart> {
  const started = gateway.clock();
  const { handle, door } = reading;
  const event = { ...describeCaller(caller, door), action: handle, class: "read" } as const;
  try {
    const part = await read(gateway, caller, reading);
    const durationMs = gateway.clock() - started;
    gateway.audit.record({ ...event, decision: "allow", rule: "owner", outcome: "ok", durationMs });
    return part;
  } catch (error) {
    const outcomeCode = error instanceof JackfieldError ? error.code : "internal";
    const reason = error instanceof Error ? error.message : String(error);
    gateway.audit.refused({
      ...event,
      decision: "refuse",
      rule: outcomeCode === "scope_missing" ? "scope" : "asset",
      reason,
      outcomeCode,
      durationMs: gateway.clock() - started,
    });
    throw error;
  }
}

async function read(gateway: Gateway, caller: GatewayCaller, reading: AssetReading): Promise<AssetPart> {
  const { handle, offset = 0 } = reading;
  const { principal } = caller;
  if (!principal.scopes.has("mcp:read")) throw scopeError(missingScope(gateway.stepUp, principal, "mcp:read"));
  const owner = assetOwner(caller);
  if (!(await isReadable(gateway, caller, handle))) throw new JackfieldError("asset_not_found");
  const asset = await gateway.assets.of(owner).read(handle);
  const left = Math.max(0, asset.size - offset);
  if (reading.length === undefined && left > MOST) {
    const text = `The file has ${asset.size} bytes; one answer takes ${MOST}. Ask for a part: ${handle}?offset=${offset}&length=${MOST}.`;
    throw new JackfieldError("asset_too_large", { text });
  }
  const length = Math.min(reading.length ?? left, MOST, left);
  const cut = await slice(asset, offset, length);
  if (!isTextType(asset.type)) return { asset, bytes: cut, offset, ...nextOf(asset, offset + cut.length) };
  const skipped = offset === 0 ? 0 : cut.findIndex((byte) => (byte & 0xc0) !== 0x80);
  const from = cut.subarray(Math.max(0, skipped));
  const bytes = offset + cut.length < asset.size ? wholeCharacters(from) : from;
  const begins = offset + cut.length - from.length;
  return { asset, bytes, offset: begins, text: bytes.toString("utf8"), ...nextOf(asset, begins + bytes.length) };
}

/** An endpoint shows what came from connections whose tools it offers, and nothing where it only passes files on. */
async function isReadable(gateway: Gateway, caller: GatewayCaller, handle: string): Promise<boolean> {
  if (caller.endpoint.config.assets === "pass") return false;
  const source = await gateway.assets.source(assetOwner(caller), handle);
  if (source === undefined) return false;
  return source === null || caller.toolset.entries.some(({ connection }) => connection.id === source);
}

function nextOf({ size }: ReadableAsset, next: number): { next?: number } {
  return next < size ? { next } : {};
}

async function slice(asset: ReadableAsset, offset: number, length: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let at = 0;
  for await (const chunk of asset.stream()) {
    const from = Math.max(0, offset - at);
    const to = Math.min(chunk.byteLength, offset + length - at);
    if (from < to) parts.push(chunk.subarray(from, to));
    at += chunk.byteLength;
    if (at >= offset + length) break;
  }
  return Buffer.concat(parts);
}
