/** Pure: what one version of an environment holds, whoever wrote it. */
import type { PolicyEntry } from "../access/policy.ts";
import { digestOf } from "./digest.ts";
import type { ConnectionConfig, EndpointConfig } from "./types.ts";

export type Origin = "file" | "web";

/** A connection or endpoint as it is configured in one version. */
export interface ContentItem<Config> {
  /** Its identity, which outlives versions. */
  readonly id: string;
  readonly slug: string;
  readonly config: Config;
  readonly origin: Origin;
  /** File name within the configuration directory, where the origin is `file`. */
  readonly source: string | null;
}

export type ConnectionItem = ContentItem<ConnectionConfig>;
export type EndpointItem = ContentItem<EndpointConfig>;

/** What an environment says of itself. */
export interface EnvironmentSettings {
  readonly label: string;
  readonly parentId: string | null;
  readonly forbid: readonly PolicyEntry[];
}

export interface EnvironmentContent extends EnvironmentSettings {
  /** `file`: an `environment.yml` says it. */
  readonly settingsOrigin: Origin;
  /** Sorted by slug. */
  readonly connections: readonly ConnectionItem[];
  readonly endpoints: readonly EndpointItem[];
}

/** The environment as it begins. */
export function emptyContent(label: string): EnvironmentContent {
  return { label, parentId: null, forbid: [], settingsOrigin: "web", connections: [], endpoints: [] };
}

/** SHA-256 of everything in it: equal content, equal digest. */
export function contentDigest(content: EnvironmentContent): string {
  const items = (list: readonly ContentItem<unknown>[]) =>
    list.map(({ slug, config, origin, source }) => [slug, config, origin, source]);
  const { label, parentId, forbid, settingsOrigin, connections, endpoints } = content;
  return digestOf({ label, parentId, forbid, settingsOrigin, c: items(connections), e: items(endpoints) });
}

/** What an editor hands back to say which state was edited: changes with every change of the item. */
export function revisionOf(config: unknown): string {
  return digestOf(config).slice(0, 32);
}

/** What `revisionOf` is taken of for the settings of an environment. */
export function settingsOf({ label, parentId, forbid }: EnvironmentSettings): EnvironmentSettings {
  return { label, parentId, forbid };
}

/** The list with this item in place of the one of its slug. */
export function withItem<Config>(
  items: readonly ContentItem<Config>[],
  item: ContentItem<Config>,
): ContentItem<Config>[] {
  return bySlug([...items.filter(({ slug }) => slug !== item.slug), item]);
}

/** Sorted by slug, byte by byte: identical in every process. */
export function bySlug<Item extends { readonly slug: string }>(items: readonly Item[]): Item[] {
  return [...items].sort((a, b) => (a.slug < b.slug ? -1 : 1));
}
