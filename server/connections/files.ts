/**
 * The configuration directory: authored content, read at start and on SIGHUP (design, section 8).
 *
 * Reading never throws for what is written in a file: everything wrong comes back together, so that one run of
 * `config check` shows it all, and a reload can refuse a wrong directory and leave what runs as it is.
 */
import { basename, extname, join, relative, resolve } from "node:path";
import { DEFAULT_ENDPOINT } from "./default-endpoint.ts";
import { NO_JACKFIELD, readConnections, readEndpoints, readEnvironmentFile, readJackfield } from "./file-kinds.ts";
import {
  directoriesIn,
  FIRST_ENVIRONMENT,
  FIRST_ORGANIZATION,
  isDirectory,
  type LoadedConfig,
  type LoadedEnvironment,
  type LoadedOrganization,
  type Reading,
  yamlFilesIn,
} from "./reading.ts";

export type {
  LoadedConfig,
  LoadedConnection,
  LoadedEndpoint,
  LoadedEnvironment,
  LoadedOrganization,
} from "./reading.ts";
export { FIRST_ENVIRONMENT, FIRST_ORGANIZATION } from "./reading.ts";

/**
 * Reads the whole directory.
 * @param dir the configuration directory
 * @param env where `${env:NAME}` is looked up; only the presence of a name matters here, no value is kept
 */
export function loadConfigDir(dir: string, env: Readonly<Record<string, string | undefined>>): LoadedConfig {
  const root = resolve(dir);
  const reading: Reading = {
    root,
    env,
    jackfield: NO_JACKFIELD,
    notes: [],
    missing: [],
    errors: [],
  };
  if (!isDirectory(root)) {
    reading.errors.push({ file: dir, message: "is not a directory" });
  } else {
    reading.jackfield = readJackfield(reading);
    rejectStrays(reading, root, ["jackfield"]);
  }
  const organizations = [readOrganization(reading, FIRST_ORGANIZATION, root)];
  for (const slug of directoriesIn(reading, join(root, "organizations"))) {
    if (slug === FIRST_ORGANIZATION) {
      const file = relative(root, join(root, "organizations", slug));
      reading.errors.push({ file, message: "the first organization's files stand at the top of the directory" });
    } else organizations.push(readOrganization(reading, slug, join(root, "organizations", slug)));
  }
  const { jackfield, notes, missing, errors } = reading;
  return { organizations, jackfield, notes, missing, errors };
}

/** `connections/` and `endpoints/` beside `environments/` are those of the first environment. */
function readOrganization(reading: Reading, slug: string, dir: string): LoadedOrganization {
  if (dir !== reading.root) rejectStrays(reading, dir, []);
  const first = readEnvironment(reading, FIRST_ENVIRONMENT, dir, join(dir, "environments", FIRST_ENVIRONMENT));
  const environments = [first];
  for (const name of directoriesIn(reading, join(dir, "environments"))) {
    if (name !== FIRST_ENVIRONMENT) environments.push(readEnvironment(reading, name, join(dir, "environments", name)));
  }
  checkParents(reading, dir, environments);
  for (const environment of environments) checkEndpoints(reading, environment, environments);
  checkAddresses(reading, environments);
  return { slug, environments };
}

function readEnvironment(reading: Reading, slug: string, ...dirs: string[]): LoadedEnvironment {
  const environment: LoadedEnvironment = { slug, declared: false, forbid: [], connections: [], endpoints: [] };
  for (const dir of dirs) {
    if (!isDirectory(dir)) continue;
    // The organization's own directory holds other things; an environment's own file stands in `environments/<slug>/`.
    if (dir === dirs.at(-1)) {
      if (dirs.length === 1 || dir !== dirs[0]) rejectStrays(reading, dir, ["environment"]);
      const file = readEnvironmentFile(reading, dir);
      environment.declared = file.declared;
      if (file.label !== undefined) environment.label = file.label;
      if (file.parent !== undefined) environment.parent = file.parent;
      environment.forbid = file.forbid;
    }
    add(reading, environment.connections, readConnections(reading, dir));
    add(reading, environment.endpoints, readEndpoints(reading, dir));
  }
  return environment;
}

function add<Item extends { slug: string; source: string }>(reading: Reading, to: Item[], items: Item[]): void {
  for (const item of items) {
    const known = to.find((other) => other.slug === item.slug);
    if (known) reading.errors.push({ file: item.source, message: `${item.slug} is declared by ${known.source} too` });
    else to.push(item);
  }
}

function checkParents(reading: Reading, dir: string, environments: readonly LoadedEnvironment[]): void {
  for (const environment of environments) {
    const file = relative(reading.root, join(dir, "environments", environment.slug, "environment.yml"));
    const seen = new Set([environment.slug]);
    for (let at: LoadedEnvironment | undefined = environment; at?.parent !== undefined; ) {
      const parent: string = at.parent;
      if (seen.has(parent)) {
        reading.errors.push({ file, key: "environment.parent", message: `leads back to ${parent}` });
        break;
      }
      seen.add(parent);
      const next = environments.find((other) => other.slug === parent);
      if (next === undefined && at === environment) {
        reading.errors.push({ file, key: "environment.parent", message: `there is no environment ${parent}` });
      }
      at = next;
    }
  }
}

/** A transparent endpoint names a connection of its environment or of an ancestor. */
function checkEndpoints(
  reading: Reading,
  environment: LoadedEnvironment,
  environments: readonly LoadedEnvironment[],
): void {
  const visible = new Set<string>();
  const seen = new Set<LoadedEnvironment>();
  for (let at: LoadedEnvironment | undefined = environment; at !== undefined && !seen.has(at); ) {
    seen.add(at);
    for (const connection of at.connections) visible.add(connection.slug);
    const parent: string | undefined = at.parent;
    at = environments.find((other) => other.slug === parent);
  }
  for (const endpoint of environment.endpoints) {
    const slug = endpoint.config.connection;
    if (slug === undefined || visible.has(slug)) continue;
    const message = `there is no connection ${slug} in this environment`;
    // A connection whose own file is wrong is told once, by that file.
    const broken = reading.errors.some((error) => basename(error.file, extname(error.file)) === slug);
    if (!broken) reading.errors.push({ file: endpoint.source, key: "endpoint.connection", message });
  }
}

/** Endpoints are addressed within the organization: two environments cannot both have one of a slug. */
function checkAddresses(reading: Reading, environments: readonly LoadedEnvironment[]): void {
  const owners = new Map<string, string>();
  for (const { slug: environment, endpoints } of environments) {
    for (const { slug, source } of endpoints) {
      const owner = owners.get(slug);
      if (owner === undefined) owners.set(slug, source);
      else if (owner !== source) reading.errors.push({ file: source, message: `${slug} is declared by ${owner} too` });
    }
    if (environment !== FIRST_ENVIRONMENT) continue;
    // The first environment has one without a file.
    if (!owners.has(DEFAULT_ENDPOINT)) owners.set(DEFAULT_ENDPOINT, `the first environment`);
  }
}

/** A YAML file that nothing reads is most likely a misspelt one. */
function rejectStrays(reading: Reading, dir: string, known: readonly string[]): void {
  for (const name of yamlFilesIn(dir)) {
    if (known.includes(basename(name, extname(name)))) continue;
    reading.errors.push({
      file: relative(reading.root, join(dir, name)),
      message: "no file of this name is read here",
    });
  }
}
