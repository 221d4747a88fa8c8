/**
 * Environment and flags -> one frozen object, checked once at start. Every variable is described in
 * `docs/configuration.md`. An error names the variable and never shows the value of one that may hold a secret.
 */
import { resolve } from "node:path";
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { JackfieldError } from "./errors.ts";

/** A network and its prefix length: `address.match(range)` of ipaddr.js, for an address of the same kind. */
export type AddressRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

export interface Config {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Origin under which clients reach the server, without a trailing slash; undefined: derived from host and port. */
  readonly publicUrl: string | undefined;
  /** Absolute path. */
  readonly dataDir: string;
  /** Absolute path. */
  readonly configDir: string;
  /** `mysql://...` or `sqlite:<path>`; undefined: SQLite in the data directory. */
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  /** 32 bytes in hexadecimal or base64(url), or several such keys, checked. The first seals, all open. */
  readonly masterKey: string | undefined;
  /** Absolute path of a file that holds the same. */
  readonly masterKeyFile: string | undefined;
  /** Non-public networks that connections may reach; `loopback` stands for 127.0.0.0/8 and ::1. */
  readonly allowPrivateUpstreams: readonly AddressRange[];
  readonly log: { readonly level: (typeof LOG_LEVELS)[number]; readonly format: "auto" | "json" | "pretty" };
  /** What Express takes as `trust proxy`: addresses, networks, `loopback`, `linklocal`, `uniquelocal`. */
  readonly trustedProxies: readonly string[];
}

/** Command line flags; they win over the environment. */
export interface ConfigOverrides {
  readonly host?: string;
  readonly port?: string;
  readonly publicUrl?: string;
  readonly dataDir?: string;
  readonly configDir?: string;
  readonly log?: string;
}

const port = z.string().transform((text, context) => {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (number <= 65_535) return number;
  return refuse(context, `must be a port number from 0 to 65535, not ${JSON.stringify(text)}`);
});

const publicUrl = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && isBareOrigin(url)) return url.origin;
  return refuse(context, "must be an origin such as https://mcp.example.com, without a path or credentials");
});

const databaseUrl = z.string().transform((text, context) => {
  if (/^(mysql|mariadb):\/\//.test(text) && URL.canParse(text) && new URL(text).pathname.length > 1) return text;
  if (/^sqlite:./.test(text) && text !== "sqlite::memory:") return text;
  return refuse(context, "must be mysql://user:password@host:port/database or sqlite:<path of a file>");
});

const redisUrl = z.string().transform((text, context) => {
  if (/^rediss?:\/\//.test(text) && URL.canParse(text)) return text;
  return refuse(context, "must be redis://... or rediss://...");
});

const masterKey = z.string().transform((text, context) => {
  if (parseMasterKeys(text) !== undefined) return text;
  return refuse(
    context,
    "must be 32 random bytes in base64 or hexadecimal (openssl rand -base64 32), or several such keys, newest first",
  );
});

const log = z.string().transform((text, context) => {
  let level: Config["log"]["level"] = "info";
  let format: Config["log"]["format"] = "auto";
  for (const word of list(text)) {
    const known = LOG_LEVELS.find((name) => name === word);
    if (known !== undefined) level = known;
    else if (word === "json" || word === "pretty") format = word;
    else return refuse(context, `must be one of ${LOG_LEVELS.join(", ")}, with json or pretty, as in "debug,json"`);
  }
  return { level, format };
});

const privateUpstreams = z.string().transform((text, context) => {
  const ranges: AddressRange[] = [];
  for (const word of list(text)) {
    const parsed = word === "loopback" ? LOOPBACK : parseRange(word);
    if (parsed === undefined) {
      return refuse(context, `must be a list of networks such as 10.0.0.0/8, or loopback; not ${JSON.stringify(word)}`);
    }
    ranges.push(...parsed);
  }
  return ranges;
});

const trustedProxies = z.string().transform((text, context) => {
  const words = list(text);
  const wrong = words.find(
    (word) => !/^(loopback|linklocal|uniquelocal)$/.test(word) && parseRange(word) === undefined,
  );
  if (wrong === undefined) return words;
  return refuse(context, `must be a list of addresses, networks or loopback; not ${JSON.stringify(wrong)}`);
});

const path = z.string().transform((text) => resolve(text));

const SCHEMA = z.object({
  JACKFIELD_HOST: z.string().default("127.0.0.1"),
  JACKFIELD_PORT: port.prefault("7420"),
  JACKFIELD_PUBLIC_URL: publicUrl.optional(),
  JACKFIELD_DATA_DIR: path.prefault("./data"),
  JACKFIELD_CONFIG_DIR: path.prefault("./config"),
  DATABASE_URL: databaseUrl.optional(),
  REDIS_URL: redisUrl.optional(),
  JACKFIELD_MASTER_KEY: masterKey.optional(),
  JACKFIELD_MASTER_KEY_FILE: path.optional(),
  JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: privateUpstreams.prefault(""),
  JACKFIELD_LOG: log.prefault("info"),
  JACKFIELD_TRUSTED_PROXIES: trustedProxies.prefault(""),
});

const FLAGS: Readonly<Record<keyof ConfigOverrides, keyof z.input<typeof SCHEMA>>> = {
  host: "JACKFIELD_HOST",
  port: "JACKFIELD_PORT",
  publicUrl: "JACKFIELD_PUBLIC_URL",
  dataDir: "JACKFIELD_DATA_DIR",
  configDir: "JACKFIELD_CONFIG_DIR",
  log: "JACKFIELD_LOG",
};

/**
 * Reads the configuration. An empty variable counts as absent.
 * Throws `config_invalid` with one line that names the variable and what it must be.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>, overrides: ConfigOverrides = {}): Config {
  const input: Record<string, string> = {};
  for (const name of Object.keys(SCHEMA.shape)) {
    const value = env[name]?.trim();
    if (value !== undefined && value !== "") input[name] = value;
  }
  for (const [flag, name] of Object.entries(FLAGS)) {
    const value: string | undefined = overrides[flag as keyof ConfigOverrides];
    if (value !== undefined) input[name] = value;
  }
  const parsed = SCHEMA.safeParse(input);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw invalid(`${issue?.path.join(".")} ${issue?.message}`);
  }
  const values = parsed.data;
  if (values.JACKFIELD_MASTER_KEY !== undefined && values.JACKFIELD_MASTER_KEY_FILE !== undefined) {
    throw invalid("JACKFIELD_MASTER_KEY and JACKFIELD_MASTER_KEY_FILE are both set; keep one.");
  }
  const shared = values.DATABASE_URL !== undefined && !values.DATABASE_URL.startsWith("sqlite:");
  if (shared && values.JACKFIELD_MASTER_KEY === undefined && values.JACKFIELD_MASTER_KEY_FILE === undefined) {
    // Each replica would make a key of its own and none could open what another one sealed.
    throw invalid("JACKFIELD_MASTER_KEY (or JACKFIELD_MASTER_KEY_FILE) is required with a MySQL DATABASE_URL.");
  }
  return Object.freeze({
    host: values.JACKFIELD_HOST,
    port: values.JACKFIELD_PORT,
    publicUrl: values.JACKFIELD_PUBLIC_URL,
    dataDir: values.JACKFIELD_DATA_DIR,
    configDir: values.JACKFIELD_CONFIG_DIR,
    databaseUrl: values.DATABASE_URL,
    redisUrl: values.REDIS_URL,
    masterKey: values.JACKFIELD_MASTER_KEY,
    masterKeyFile: values.JACKFIELD_MASTER_KEY_FILE,
    allowPrivateUpstreams: Object.freeze(values.JACKFIELD_ALLOW_PRIVATE_UPSTREAMS),
    log: Object.freeze(values.JACKFIELD_LOG),
    trustedProxies: Object.freeze(values.JACKFIELD_TRUSTED_PROXIES),
  });
}

/** Master keys separated by commas, blanks or line ends; undefined where there is none, or anything else. */
export function parseMasterKeys(text: string): [Buffer, ...Buffer[]] | undefined {
  const [first, ...others] = list(text).map(parseMasterKey);
  if (first === undefined) return undefined;
  const older = others.filter((key) => key !== undefined);
  return older.length === others.length ? [first, ...older] : undefined;
}

/** The 32 bytes of a master key written in hexadecimal, base64 or base64url; undefined where it is anything else. */
function parseMasterKey(key: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(key)) return Buffer.from(key, "hex");
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(key)) return Buffer.from(key, "base64");
  return undefined;
}

/**
 * The origin under which people and clients reach the server.
 * @param port the one that is listened on, where the configuration lets the system choose it
 */
export function publicOrigin(config: Pick<Config, "host" | "port" | "publicUrl">, port = config.port): string {
  return config.publicUrl ?? `http://${reachableHost(config.host)}:${port}`;
}

/** Something to type into a client: a wildcard address is none. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

/** An address or network in CIDR notation; undefined where it is neither. */
export function parseRange(text: string): AddressRange[] | undefined {
  if (ipaddr.isValidCIDR(text)) return [ipaddr.parseCIDR(text)];
  // The four-part form only: ipaddr.js would take `10` and `0x0a000001` as addresses too.
  if (!ipaddr.IPv6.isValid(text) && !ipaddr.IPv4.isValidFourPartDecimal(text)) return undefined;
  const address = ipaddr.parse(text);
  return [[address, address.kind() === "ipv4" ? 32 : 128]];
}

const LOOPBACK: AddressRange[] = [ipaddr.parseCIDR("127.0.0.0/8"), ipaddr.parseCIDR("::1/128")];

function isBareOrigin(url: URL): boolean {
  return url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "" && url.password === "";
}

function list(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: "custom", message });
  return z.NEVER;
}

function invalid(text: string): JackfieldError {
  return new JackfieldError("config_invalid", { text });
}
