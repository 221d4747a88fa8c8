/** Turns whatever a command threw into the one line a person reads. */

import { JackfieldError } from "../errors.ts";

/** Node's system errors carry these beside `code`. */
interface SystemError extends Error {
  code: string;
  path?: string;
  port?: number;
  address?: string;
}

function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && "code" in error && typeof error.code === "string" && "syscall" in error;
}

function systemText(error: SystemError): string {
  const where = error.path ?? "";
  switch (error.code) {
    case "EADDRINUSE":
      return `port ${error.port ?? ""} on ${error.address ?? "this host"} is taken; set JACKFIELD_PORT to a free one`;
    case "EADDRNOTAVAIL":
      return `this machine has no address ${error.address ?? ""} to listen on; set JACKFIELD_HOST`;
    case "EACCES":
    case "EPERM":
      if (error.port !== undefined) return `listening on port ${error.port} is not allowed; set JACKFIELD_PORT`;
      return `no permission to use ${where}`;
    case "EROFS":
      return `${where} is on a read-only file system`;
    case "ENOTDIR":
    case "EEXIST":
      return `${where} is not a directory`;
    case "ENOSPC":
      return `no space left for ${where}`;
    default:
      return firstLine(error.message);
  }
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.trim() ?? "";
}

/** Sequelize and its drivers name their classes so; the package itself is not needed to tell them. */
function databaseText(error: Error): string | undefined {
  if (!error.name.startsWith("Sequelize")) return undefined;
  if (/Connection|AccessDenied|HostNot/.test(error.name)) {
    return `the database cannot be reached: ${firstLine(error.message) || error.name}`;
  }
  return `the database refused: ${firstLine(error.message)}`;
}

/**
 * One line without a stack. A `JackfieldError` speaks for itself; its `detail` is added, because whoever runs a
 * command is the operator.
 */
export function failureLine(error: unknown): string {
  if (error instanceof JackfieldError) {
    const detail = error.detail === undefined || error.message.includes(error.detail) ? "" : ` ${error.detail}`;
    return `${error.message}${detail}`.replaceAll("\n", "; ");
  }
  if (isSystemError(error)) return systemText(error);
  if (error instanceof Error) return databaseText(error) ?? (firstLine(error.message) || error.name);
  return firstLine(String(error));
}
