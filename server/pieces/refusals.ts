/** What is not installed, and why. Pure. */
import type { PieceDescription } from "../../adapters/pieces/description.ts";
import { runsAlone } from "../../adapters/pieces/visible.ts";
import type { Bundled } from "./bundle.ts";

/** Packages that speak a protocol of their own over a socket; the sandbox has none. */
const SOCKETS: ReadonlySet<string> = new Set([
  ...[
    "mysql",
    "mysql2",
    "mariadb",
    "pg",
    "pg-native",
    "postgres",
    "mssql",
    "tedious",
    "oracledb",
    "mongodb",
    "mongoose",
  ],
  ...["redis", "@redis/client", "ioredis", "cassandra-driver", "neo4j-driver", "memcached", "ldapjs", "ldapts"],
  ...[
    "ssh2",
    "ssh2-sftp-client",
    "node-ssh",
    "basic-ftp",
    "ftp",
    "jsftp",
    "nodemailer",
    "imap",
    "node-imap",
    "imapflow",
  ],
  ...["kafkajs", "amqplib", "mqtt", "stompit", "nats", "ws-sftp", "telnet-client"],
]);

/** Names that drivers keep when a piece comes as one file, in which packages cannot be told apart. */
const SOCKET_SIGNS: readonly (readonly [sign: string, what: string])[] = [
  ["mysql_native_password", "MySQL"],
  ["mongodb+srv", "MongoDB"],
  ["SCRAM-SHA-256-PLUS", "PostgreSQL"],
  ["diffie-hellman-group14", "SSH"],
  ["AUTH PLAIN", "SMTP"],
  ["STARTTLS", "mail"],
];

const RPC: ReadonlySet<string> = new Set(["@grpc/grpc-js", "grpc", "nice-grpc"]);
const RPC_SIGN = "application/grpc";

const BROWSERS: ReadonlySet<string> = new Set([
  ...["playwright", "playwright-core", "puppeteer", "puppeteer-core", "selenium-webdriver", "webdriverio"],
  "chromium-bidi",
]);

/** Why a bundle is not even loaded; undefined where it may be. */
export function refusedBundle({ packages, code }: Pick<Bundled, "packages" | "code">): string | undefined {
  const driver = packages.find((name) => SOCKETS.has(name));
  const sign = SOCKET_SIGNS.find(([text]) => code.includes(text))?.[1];
  const socket = driver ?? sign;
  if (socket !== undefined) return `raw sockets: it contains ${socket}, and the sandbox opens no socket`;
  const rpc = packages.find((name) => RPC.has(name)) ?? (code.includes(RPC_SIGN) ? "gRPC" : undefined);
  if (rpc !== undefined) return `gRPC: it contains ${rpc}, which needs HTTP/2 of its own`;
  return undefined;
}

/** Why a piece that loads is of no use; undefined where it is. @param packages of its bundle */
export function refusedPiece(description: PieceDescription, packages: readonly string[]): string | undefined {
  const { actions, triggers } = description;
  if (actions.length === 0) {
    return triggers > 0 ? `no actions: it only has triggers (${triggers})` : "no actions";
  }
  // What it takes for a tool that its author may have meant for a flow only, all of them together.
  if (actions.some(({ needs }) => needs.length === 0) || actions.every(runsAlone)) return undefined;
  const browser = packages.find((name) => BROWSERS.has(name));
  if (browser !== undefined && actions.every(({ needs }) => needs.includes("browser"))) {
    return `browser automation: its actions need ${browser}`;
  }
  return "flow-only: every action waits for, answers or changes the flow it runs in";
}
