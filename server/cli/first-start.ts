/**
 * What the first start makes: directories, key, tables, one organization with an environment and an endpoint, one
 * token, sample connections. Each step looks at what is there, so a later start, or one that follows a start which
 * broke off, makes only what is missing.
 */

import { chmodSync, cpSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "../config.ts";
import { JackfieldError } from "../errors.ts";
import { createAgentTokens } from "../people/agent-tokens.ts";
import { prepareDataDir } from "../store/data-dir.ts";
import type { CliIo } from "./io.ts";
import { DEFAULT_ENDPOINT, endpointIdsOf, FIRST_ORGANIZATION } from "./tokens.ts";
import { type Workplace, withWorkplace } from "./workplace.ts";

/** The samples in this repository, beside `server/`. */
const QUICKSTART = resolve(import.meta.dirname, "../../examples/quickstart");
const TOKEN_FILE = "first-token";
/** The row whose insertion decides which of several starting processes makes the first token. */
const CLAIM = "first_token";
const TOKEN_DAYS = 90;

export interface FirstStart {
  /** The agent token, where this start made one. */
  token?: string;
  /** The 0600 file that holds it, where no person reads along. */
  tokenFile?: string;
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
    const made = await makeFirstToken(workplace, io);
    return { ...made, ...(quickstart && { quickstart: config.configDir }) };
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

async function makeFirstToken(workplace: Workplace, { terminal, env }: CliIo): Promise<FirstStart> {
  const { store, shared, config } = workplace;
  if ((await store.models.agentTokens.count()) > 0) return {};
  const organization = await store.models.organizations.findOne({ where: { slug: FIRST_ORGANIZATION } });
  if (organization === null || !(await claimed(workplace))) return {};
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
  const tokenFile = join(config.dataDir, TOKEN_FILE);
  // Never written into a file that is there: its mode would stay as it was.
  rmSync(tokenFile, { force: true });
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600, flag: "wx" });
  return { token, tokenFile };
}

async function claimed({ store }: Workplace): Promise<boolean> {
  const [, made] = await store.models.settings.findOrCreate({
    where: { key: CLAIM },
    defaults: { key: CLAIM, value: new Date().toISOString() },
  });
  return made;
}
