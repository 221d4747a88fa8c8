/** Errors of handlers as JSON-RPC errors (protocol research: which code goes out where). */
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { UpstreamError, UpstreamRpcError } from "../../adapters/contract.ts";
import { ERRORS, JackfieldError } from "../errors.ts";

const RESOURCE_NOT_FOUND_LEGACY = -32002;
const HEADER_MISMATCH = -32020;
const MISSING_CAPABILITY = -32021;
const UNSUPPORTED_VERSION = -32022;
const METHOD_NOT_FOUND = -32601;

/**
 * The protocol error that tells a caller about `error`.
 * An upstream's error about its own hop (header, version) would lie about ours, so it is translated.
 */
export function toProtocolError(error: unknown, transparent: boolean): unknown {
  if (error instanceof ProtocolError) return error;
  if (error instanceof UpstreamRpcError) return relayed(error, transparent);
  if (error instanceof JackfieldError) {
    return new ProtocolError(error.rpc ?? ProtocolErrorCode.InternalError, error.message, error.data);
  }
  if (error instanceof UpstreamError) {
    return new ProtocolError(ProtocolErrorCode.InternalError, error.message, { code: error.code });
  }
  return new ProtocolError(ProtocolErrorCode.InternalError, ERRORS.internal.text);
}

function relayed(error: UpstreamRpcError, transparent: boolean): ProtocolError {
  const { rpcCode, message, data } = error;
  if (rpcCode === RESOURCE_NOT_FOUND_LEGACY) return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);
  const ours =
    rpcCode === HEADER_MISMATCH || rpcCode === UNSUPPORTED_VERSION || (rpcCode === MISSING_CAPABILITY && !transparent);
  if (ours || (rpcCode === METHOD_NOT_FOUND && !transparent)) {
    return new ProtocolError(ProtocolErrorCode.InternalError, `${ERRORS.upstream_protocol.text} ${message}`);
  }
  return new ProtocolError(rpcCode, message, data);
}
