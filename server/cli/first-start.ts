/**
 * What the first start makes: directories, key, tables, one organization with an environment and an endpoint, one
 * token, a link that makes the first admin, sample connections. Each step looks at what is there, so a later start, or one that follows a start which
 * broke off, makes only what is missing.
 */

import { chmodSync, cpSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "../config.ts";
import { JackfieldError } from "../errors.ts";
import { createAgentTokens } from "../people/agent-tokens.ts";
import { createOneTimeLinks } from "../people/one-time-links.ts";
import { hasAdmin } from "../people/people.ts";
import { LINK_MS } from "../people/setup.ts";
import { prepareDataDir } from "../store/data-dir.ts";
import type { CliIo } from "./io.ts";
import { DEFAULT_ENDPOINT, endpointIdsOf, FIRST_ORGANIZATION } from "./tokens.ts";
import { type Workplace, withWorkplace } from "./workplace.ts";

/** The samples in this repository, beside `server/`. */
const QUICKSTART = resolve(import.meta.dirname, "../../examples/quickstart");
const TOKEN_FILE = "first-token";
const LINK_FILE = "setup-link";
/** The rows whose insertion decides which of several starting processes makes the first token and link. */
const TOKEN_CLAIM = "first_token";
const LINK_CLAIM = "first_setup_link";
const TOKEN_DAYS = 90;

export interface FirstStart {
  /** The agent token, where this start made one. */
  token?: string;
  /** The 0600 file that holds it, where no person reads along. */
  tokenFile?: string;
  /** What opens the page on which the first admin is made, where this start made it. */
  setupSecret?: string;
  /** Whether nobody is an admin yet. */
  needsAdmin: boolean;
  /** The configuration directory, where this start filled it with the samples. */
  quickstart?: string;
}

/**
 * Makes whatever the server needs and does not find.
 * @throws JackfieldError `start_failed` in one line that names what cannot be used
 */
export async function prepareStart(config: Config, io: CliIo): Promise<FirstStart> {
  tightenEmpty(config.dataDir);
  return withWorkplace(io, async (workplace) => {
    const quickstart = copyQuickstart(config.configDir);
    const token = await makeFirstToken(workplace, io);
    const admin = await offerSetup(workplace);
    return { ...token, ...admin, ...(quickstart && { quickstart: config.configDir }) };
  });
}

/** A fresh volume may be open to others; a directory that holds something keeps the mode its owner chose. */
function tightenEmpty(dataDir: string): void {
  prepareDataDir(dataDir);
  if (readdirSync(dataDir).length === 0 && (statSync(dataDir).mode & 0o077) !== 0) chmodSync(dataDir, 0o700);
}

/** @returns true where the samples were copied: only where nothing at all is at the path */
function copyQuickstart(configDir: string): boolean {
  if (existsSync(configDir)) {
    if (statSync(configDir).isDirectory()) return false;
    throw new JackfieldError("start_failed", {
      text: `The configuration directory ${configDir} is a file. Set JACKFIELD_CONFIG_DIR to a directory.`,
    });
  }
  try {
    cpSync(QUICKSTART, configDir, { recursive: true });
    return true;
  } catch (error) {
    rmSync(configDir, { recursive: true, force: true });
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new JackfieldError("start_failed", {
      text: `There is no configuration directory ${configDir} and it cannot be made (${code}). Set JACKFIELD_CONFIG_DIR.`,
      cause: error,
    });
  }
}

type FirstToken = Pick<FirstStart, "token" | "tokenFile">;

async function makeFirstToken(workplace: Workplace, { terminal, env }: CliIo): Promise<FirstToken> {
  const { store, shared, config } = workplace;
  if ((await store.models.agentTokens.count()) > 0) return {};
  const organization = await store.models.organizations.findOne({ where: { slug: FIRST_ORGANIZATION } });
  if (organization === null || !(await claimed(workplace, TOKEN_CLAIM))) return {};
  const { token } = await createAgentTokens({ store, bus: shared.bus, clock: Date.now }).create({
    organizationId: organization.id,
    name: "first",
    endpointIds: await endpointIdsOf(workplace, organization, [DEFAULT_ENDPOINT], env),
    scopes: ["mcp:read", "mcp:write"],
    variables: {},
    expiresAt: new Date(Date.now() + TOKEN_DAYS * 86_400_000),
    createdBy: "first start",
  });
  if (terminal) return { token };
  return { token, tokenFile: writePrivate(join(config.dataDir, TOKEN_FILE), token) };
}

/** At the first start only: later ones would hand out an admin's rights to whoever reads along. */
async function offerSetup(workplace: Workplace): Promise<Pick<FirstStart, "setupSecret" | "needsAdmin">> {
  const { store } = workplace;
  const organization = await store.models.organizations.findOne({ where: { slug: FIRST_ORGANIZATION } });
  if (organization === null || (await hasAdmin(store, organization.id))) return { needsAdmin: false };
  if (!(await claimed(workplace, LINK_CLAIM))) return { needsAdmin: true };
  const links = createOneTimeLinks({ store, clock: Date.now });
  const link = { kind: "setup", organizationId: organization.id, role: "admin", forMs: LINK_MS } as const;
  return { setupSecret: (await links.create(link)).secret, needsAdmin: true };
}

/** Keeps the link for its owner, where no person reads along; returns the file's path. */
export function writeSetupLink(config: Config, url: string): string {
  return writePrivate(join(config.dataDir, LINK_FILE), url);
}

/** Never written into a file that is there: its mode would stay as it was. */
function writePrivate(path: string, text: string): string {
  rmSync(path, { force: true });
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: "wx" });
  return path;
}

async function claimed({ store }: Workplace, key: string): Promise<boolean> {
  const [, made] = await store.models.settings.findOrCreate({
    where: { key },
    defaults: { key, value: new Date().toISOString() },
  });
  return made;
}
