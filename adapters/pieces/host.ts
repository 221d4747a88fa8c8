/**
 * Where the code of pieces runs. The adapter knows the sandbox only as this; it is handed over bound to one connection
 * and to whose credential it uses, so that no two of them ever share an isolate.
 */
import type { JsonObject } from "../contract.ts";
import type { PieceDescription } from "./description.ts";

/** Bytes that go in with a call. In the arguments, `{ "sandbox:file": <index> }` stands for one. */
export interface FileIn {
  readonly name: string;
  readonly data: Uint8Array;
}

/** Bytes that the piece wrote. In the result, the text `sandbox:file:<index>` stands for one. */
export interface FileOut {
  readonly name: string;
  readonly data: Uint8Array;
}

/** What a piece threw, in its own words. */
export interface PieceErrorWords {
  readonly name: string;
  readonly code?: string;
  readonly message: string;
  /** Status of the HTTP answer that the error carries. */
  readonly httpStatus?: number;
}

export interface PieceCall {
  /** Hash of the installed bundle. */
  readonly bundle: string;
  /** `context.auth`, shaped for the piece's generation; undefined where it has none. */
  readonly auth: unknown;
  /** Values to take out of everything that comes back, besides those inside `auth`. */
  readonly secrets: readonly string[];
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly deadline?: number;
}

export type PieceRun =
  | { readonly kind: "done"; readonly result: unknown; readonly files: readonly FileOut[] }
  /** The piece threw. */
  | { readonly kind: "failed"; readonly error: PieceErrorWords };

/** `supported: false`: the piece has no check of its own. */
export type PieceValidation = { readonly supported: boolean; readonly valid: boolean; readonly error?: string };

/** All reject with UpstreamError for what the sandbox or egress ended. */
export interface PieceHost {
  /** What is in an installed bundle, from disk: no code runs. */
  describe(bundle: string): Promise<PieceDescription>;
  run(
    call: PieceCall & { readonly action: string; readonly props: JsonObject; readonly files: readonly FileIn[] },
  ): Promise<PieceRun>;
  /** The options of a dropdown, or the arguments of a dynamic one, as the piece's code gave them. */
  options(
    call: PieceCall & {
      readonly action: string;
      readonly prop: string;
      readonly values: JsonObject;
      readonly search?: string;
    },
  ): Promise<PieceRun>;
  validate(call: PieceCall & { readonly authIndex: number }): Promise<PieceValidation>;
}
