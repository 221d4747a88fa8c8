/** One call into the piece: run an action, ask a prop for options, validate a credential, describe everything. */
import { actionContext, sharedContext } from "./context.ts";
import { described, describePiece } from "./describe.ts";
import { CallError } from "./failure.ts";
import { type GivenFile, type WrittenFiles, withFiles } from "./files.ts";
import { type Entry, isEntry, isWork, type Piece } from "./find.ts";

/** JSON that comes with a call. */
interface Input {
  readonly action?: string;
  readonly prop?: string;
  readonly auth?: unknown;
  readonly props?: unknown;
  readonly values?: Entry;
  readonly search?: string;
  readonly authIndex?: number;
}

function actionOf(piece: Piece, name: unknown): Entry {
  const action = piece.actions.get(String(name));
  if (action === undefined)
    throw new CallError("no_such_action", `The piece has no action ${String(name).slice(0, 100)}.`);
  return action;
}

async function run(piece: Piece, input: Input, given: readonly GivenFile[], written: WrittenFiles): Promise<unknown> {
  const action = actionOf(piece, input.action);
  const work = action["run"];
  if (!isWork(work)) throw new CallError("no_such_action", "The action cannot be run.");
  const { context, stopped } = actionContext(input.auth, withFiles(input.props ?? {}, given), written);
  const result: unknown = await Reflect.apply(work, action, [context]);
  return stopped() ?? result;
}

async function options(piece: Piece, { action, prop, values, search, auth }: Input): Promise<unknown> {
  const props = actionOf(piece, action)["props"];
  const found = isEntry(props) ? props[String(prop)] : undefined;
  const entry = isEntry(found) ? found : {};
  const work = [entry["options"], entry["props"]].find(isWork);
  if (work === undefined) throw new CallError("no_such_action", "The prop has nothing to choose from.");
  const context = { ...sharedContext(), searchValue: search };
  return described(await Reflect.apply(work, entry, [{ ...values, ...(auth !== undefined && { auth }) }, context]));
}

async function validate({ entry }: Piece, { auth, authIndex }: Input): Promise<unknown> {
  const forms = entry["auth"];
  const form: unknown = Array.isArray(forms) ? forms[authIndex ?? 0] : forms;
  const check = isEntry(form) ? form["validate"] : undefined;
  if (!isWork(check)) return { supported: false };
  const answer: unknown = await Reflect.apply(check, form, [{ auth, server: { apiUrl: "", publicUrl: "" } }]);
  const { valid, error } = isEntry(answer) ? answer : { valid: false, error: "the piece gave no answer" };
  return { supported: true, valid: valid === true, ...(typeof error === "string" && { error: error.slice(0, 600) }) };
}

/** Does what a message of the worker asks for. */
export async function call(
  piece: Piece,
  kind: string,
  json: string,
  given: readonly GivenFile[],
  written: WrittenFiles,
): Promise<unknown> {
  const input: Input = JSON.parse(json);
  switch (kind) {
    case "run":
      return run(piece, input, given, written);
    case "options":
      return options(piece, input);
    case "validate":
      return validate(piece, input);
    case "describe":
      return describePiece(piece);
    default:
      throw new CallError("no_such_action", "There is no such kind of call.");
  }
}
