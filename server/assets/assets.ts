/**
 * Files that are kept for a caller: what a service answered with and no model should carry, to be given on by its
 * handle. A handle works for the principal and the environment it was made for, until it expires.
 *
 * Contents are never looked into, run or guessed at: bytes, and what their source called them.
 */
import { randomBytes } from "node:crypto";
import { Op, type Transaction, type WhereOptions } from "sequelize";
import { type Assets, isAssetHandle, type KeptAsset, type Log, type ReadableAsset } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import type { AssetRow } from "../store/models/assets.ts";
import type { Row } from "../store/models/table.ts";
import { cleanFileName, cleanMediaType } from "./labels.ts";
import type { AssetLimits } from "./limits.ts";
import { damaged, metered, verified } from "./metered.ts";
import type { AssetStorage } from "./storage.ts";

/** Whose files they are. */
export interface AssetOwner {
  readonly organizationId: string;
  readonly environmentId: string;
  readonly principalKey: string;
}

export interface AssetKeeper {
  /** @param connectionId where new files come from */
  of(owner: AssetOwner, connectionId?: string): Assets;
  /** The connection a file came from; undefined where there is no such file for this owner, null where it came from none. */
  source(owner: AssetOwner, handle: string): Promise<string | null | undefined>;
}

export interface KeeperOptions {
  readonly store: Store;
  readonly storage: AssetStorage;
  readonly limits: () => AssetLimits;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** A file that is still written after this was left behind. */
const WRITING_MS = 3_600_000;
/** Contents up to this size are read once, checked, and sent from memory. */
const AT_ONCE = 1024 * 1024;
const SCHEME = "asset://";

type AssetRecord = Row<AssetRow>;

/** Where the content of a file is. */
export function storageKey({ organizationId, id }: Pick<AssetRow, "organizationId" | "id">): string {
  return `${organizationId}/${id}`;
}

export function createAssetKeeper(options: KeeperOptions): AssetKeeper {
  const { store, storage, limits, log, clock } = options;
  const { assets, organizations } = store.models;

  const found = async (owner: AssetOwner, handle: string): Promise<AssetRecord> => {
    const { organizationId, environmentId, principalKey } = owner;
    const row = isAssetHandle(handle)
      ? await assets.findOne({
          where: {
            ...{ handle: handle.slice(SCHEME.length), organizationId, environmentId, principalKey },
            ...{ state: "ready", expiresAt: { [Op.gt]: new Date(clock()) } },
          },
        })
      : null;
    if (row === null) throw new JackfieldError("asset_not_found");
    return row;
  };

  const contentOf = async (row: AssetRecord): Promise<AsyncIterable<Uint8Array>> => {
    const content = await storage.read(storageKey(row));
    if (content === undefined) throw damaged("its content is gone");
    return verified(content, { size: row.size, digest: row.digest ?? "" });
  };

  const readable = async (row: AssetRecord): Promise<ReadableAsset> => {
    const small = row.size <= AT_ONCE;
    const chunks: Uint8Array[] = [];
    try {
      for await (const chunk of await contentOf(row)) if (small) chunks.push(chunk);
    } catch (error) {
      const reason = error instanceof JackfieldError ? (error.detail ?? error.message) : String(error);
      log.error({ asset: row.id, reason }, "a kept file could not be read");
      throw error;
    }
    const again = async function* () {
      if (small) yield* chunks;
      else yield* await contentOf(row);
    };
    return { ...describe(row), stream: () => ReadableStream.from(again()) };
  };

  return {
    of: (owner, connectionId) => ({
      async put(content, about) {
        const row = await assets.create({
          ...owner,
          handle: randomBytes(18).toString("base64url"),
          ...(connectionId === undefined ? {} : { connectionId }),
          state: "writing",
          size: 0,
          type: cleanMediaType(about.type),
          name: cleanFileName(about.name),
          createdAt: new Date(clock()),
          expiresAt: new Date(clock() + WRITING_MS),
        });
        try {
          const room = await roomOf(owner);
          const { fileBytes } = limits();
          const source = content instanceof Uint8Array ? once(content) : content;
          const meter = metered(source, (bytes) => {
            if (bytes > fileBytes) throw tooLarge(fileBytes);
            if (bytes > room) throw new JackfieldError("asset_quota");
          });
          await storage.write(storageKey(row), meter.chunks);
          await finish(row, meter.size(), meter.digest());
        } catch (error) {
          await forget(row);
          throw error;
        }
        return keptOf(row);
      },
      read: async (handle) => readable(await found(owner, handle)),
    }),
    async source(owner, handle) {
      try {
        return (await found(owner, handle)).connectionId;
      } catch (error) {
        if (error instanceof JackfieldError && error.code === "asset_not_found") return undefined;
        throw error;
      }
    },
  };

  /** Bytes that may still be kept for this owner. */
  async function roomOf(owner: AssetOwner): Promise<number> {
    const { principalBytes, organizationBytes } = limits();
    const { organizationId, principalKey } = owner;
    const own = principalBytes - (await bytesOf({ organizationId, principalKey }));
    return Math.max(0, Math.min(own, organizationBytes - (await bytesOf({ organizationId }))));
  }

  async function bytesOf(where: WhereOptions<AssetRow>, transaction?: Transaction): Promise<number> {
    const live = { ...where, expiresAt: { [Op.gt]: new Date(clock()) } };
    return Number((await assets.sum("size", { where: live, ...(transaction && { transaction }) })) ?? 0);
  }

  /** Makes a file usable, unless it takes more than there is room for, however many are written at once. */
  async function finish(row: AssetRecord, size: number, digest: string): Promise<void> {
    const { organizationId, principalKey } = row;
    const { ttlMs, principalBytes, organizationBytes } = limits();
    await store.transaction(async (transaction) => {
      await organizations.findByPk(organizationId, { transaction, lock: transaction.LOCK.UPDATE });
      const all = await bytesOf({ organizationId }, transaction);
      const own = await bytesOf({ organizationId, principalKey }, transaction);
      if (own + size > principalBytes || all + size > organizationBytes) throw new JackfieldError("asset_quota");
      await row.update({ state: "ready", size, digest, expiresAt: new Date(clock() + ttlMs) }, { transaction });
    });
  }

  /** The reason why it was not kept counts more than that its rest could not be cleared: the sweep does that. */
  async function forget(row: AssetRecord): Promise<void> {
    try {
      await storage.delete(storageKey(row));
      await row.destroy();
    } catch (error) {
      log.warn(
        { asset: row.id, reason: String(error) },
        "what is left of a file that was not kept stays for the sweep",
      );
    }
  }
}

function describe({ handle, digest, size, type, name, expiresAt }: AssetRecord) {
  return { handle: SCHEME + handle, digest: digest ?? "", size, type, name, expiresAt: expiresAt.getTime() };
}

function keptOf(row: AssetRecord): KeptAsset {
  const asset = describe(row);
  const { handle: uri, name, type: mimeType, size } = asset;
  return { ...asset, resourceLink: { type: "resource_link", uri, name, mimeType, size } };
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

function tooLarge(most: number): JackfieldError {
  return new JackfieldError("asset_too_large", { text: `The file has more than ${most} bytes, which is the limit.` });
}
