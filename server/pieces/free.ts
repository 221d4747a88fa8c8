/**
 * A piece without authentication needs no connection: it is there in every environment. It is put into those without a
 * parent, from which all others inherit it, under the id of its offer. A connection that the files declare by the same
 * name, there or in an environment below, comes before it.
 */
import type { LoadedConfig, LoadedEnvironment } from "../connections/files.ts";
import type { ConnectionConfig } from "../connections/types.ts";
import type { FreePiece } from "./offers.ts";

/** What is recorded as the source of such a connection. */
const SOURCE = "jackfield.yml";

export function withFreePieces(loaded: LoadedConfig, free: readonly FreePiece[]): LoadedConfig {
  if (free.length === 0 || loaded.errors.length > 0) return loaded;
  const organizations = loaded.organizations.map((organization) => ({
    ...organization,
    environments: organization.environments.map((environment) => added(environment, free)),
  }));
  return { ...loaded, organizations };
}

function added(environment: LoadedEnvironment, free: readonly FreePiece[]): LoadedEnvironment {
  if (environment.parent !== undefined) return environment;
  const taken = new Set(environment.connections.map(({ slug }) => slug));
  const connections = free
    .filter(({ slug }) => !taken.has(slug))
    .map((piece) => ({ slug: piece.slug, source: SOURCE, config: configOf(piece) }));
  return { ...environment, connections: [...environment.connections, ...connections] };
}

/** The operator offered it and it holds no credential: its own word about what reads is taken, everything else writes. */
function configOf({ id, version, label, description }: FreePiece): ConnectionConfig {
  return {
    type: "ap",
    label,
    description,
    aliases: [],
    subject: "installation",
    required: false,
    asks: "none",
    review: "patterns",
    auth: { method: "none" },
    access: {
      read: [],
      write: [],
      approval: { tools: {} },
      disable: [],
      resources: [],
      prompts: [],
      suggested: true,
    },
    adapter: { piece: id, version },
  };
}
