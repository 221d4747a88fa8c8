/** Progress and notifications of one request of the caller. */
import { LOG_LEVEL_META_KEY, type ServerContext } from "@modelcontextprotocol/server";
import type { JsonObject, Log, Progress } from "../../../adapters/contract.ts";
import type { Leg } from "./parking.ts";

/** Milliseconds between signs of life; the clients measured give a silent call up after 60 s. */
const HEARTBEAT_MS = 10_000;
/** Below every step a real progress makes, so that the upstream's own values still rise (MCP: progress must rise). */
const HEARTBEAT_STEP = 1e-6;

/**
 * @param transparent relay the upstream's progress untouched, and nothing of our own
 */
export function legOf(ctx: ServerContext, transparent: boolean, log: Log): Leg & { end(): void } {
  const token = ctx.mcpReq._meta?.progressToken;
  const send = (method: string, params: JsonObject) => {
    ctx.mcpReq
      .notify({ method, params })
      .catch((error: unknown) => log.debug({ method, reason: String(error) }, "a notification was not delivered"));
  };
  let last = -1;
  let ended = false;
  const progress = (value: Progress) => {
    if (token === undefined || ended) return;
    if (!transparent && value.progress <= last) return;
    last = value.progress;
    send("notifications/progress", { ...value, progressToken: token });
  };
  const heartbeat =
    token === undefined || transparent
      ? undefined
      : setInterval(
          () => progress({ progress: Math.max(last, 0) + HEARTBEAT_STEP, message: "Still working" }),
          HEARTBEAT_MS,
        );
  heartbeat?.unref();
  return {
    signal: ctx.mcpReq.signal,
    // Also where the caller wants none: an upstream that reports progress is not given up for its silence.
    progress,
    notify: (notification) => {
      if (!ended) send(notification.method, notification.params ?? {});
    },
    end() {
      ended = true;
      clearInterval(heartbeat);
    },
  };
}

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/**
 * Whether a modern caller wants a notification of its upstream: log messages only where its request asked for a
 * level, and from that level up (MCP 2026-07-28, logging). A legacy upstream logs whatever was asked for before.
 */
export function wanted(notification: { method: string; params?: JsonObject }, level: string | undefined): boolean {
  if (notification.method !== "notifications/message") return true;
  if (level === undefined) return false;
  return LEVELS.indexOf(String(notification.params?.["level"])) >= LEVELS.indexOf(level);
}

/** The level a modern request asked for (`_meta`), undefined where it asked for no log messages. */
export function requestedLogLevel(ctx: ServerContext): string | undefined {
  const envelope: JsonObject = { ...ctx.mcpReq.envelope };
  const level = envelope[LOG_LEVEL_META_KEY];
  return typeof level === "string" ? level : undefined;
}
