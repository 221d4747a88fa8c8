/**
 * Calls that wait for an answer while no request of the caller is open.
 *
 * A legacy upstream asks in mid-call and waits; a modern caller hears the question as the end of its request and
 * answers with a new one. In between the call is parked here, in the process that runs it.
 */
import { ulid } from "ulid";
import type { JsonObject, Progress, Question } from "../../../adapters/contract.ts";
import { JackfieldError } from "../../errors.ts";
import type { CallOutcome } from "../../gateway/call.ts";

/** One request of the caller within a call: where progress and notifications go while it is open. */
export interface Leg {
  readonly signal: AbortSignal;
  readonly progress?: (progress: Progress) => void;
  readonly notify?: (notification: { method: string; params?: JsonObject }) => void;
}

export type Turn = { kind: "outcome"; outcome: CallOutcome } | { kind: "question"; id: string; question: Question };

export interface ParkingLot {
  /** Starts a call whose questions end the leg. Resolves with its outcome or its first question. */
  start(
    leg: Leg,
    owner: string,
    run: (leg: Leg, ask: (question: Question) => Promise<JsonObject>) => Promise<CallOutcome>,
  ): Promise<Turn>;
  /**
   * Goes on with a parked call: hands over the answer (or asks again where there is none).
   * Undefined where the call is gone: answered, expired, or parked elsewhere.
   */
  resume(id: string, owner: string, leg: Leg, answer: JsonObject | undefined): Promise<Turn> | undefined;
  /** Ends every parked call. */
  close(): void;
}

const MOST_PARKED = 1000;

/** @param ttlMs milliseconds a question waits for its answer before the call is given up */
export function createParkingLot(ttlMs: number): ParkingLot {
  const parked = new Map<string, ParkedCall>();

  return {
    start(leg, owner, run) {
      const call = new ParkedCall(owner, (id) => parked.delete(id));
      call.attach(leg);
      call.follow(run(call.leg(), (question) => call.ask(question)));
      return call.turn(park);
    },
    resume(id, owner, leg, answer) {
      const call = parked.get(id);
      if (!call || call.owner !== owner) return undefined;
      parked.delete(id);
      call.attach(leg);
      call.answer(answer);
      return call.turn(park);
    },
    close() {
      for (const call of parked.values()) call.abandon("the server is stopping");
      parked.clear();
    },
  };

  function park(call: ParkedCall): string {
    if (parked.size >= MOST_PARKED) {
      const oldest = parked.values().next().value;
      oldest?.abandon("too many calls wait for an answer");
    }
    const id = ulid();
    parked.set(id, call);
    call.park(id, ttlMs);
    return id;
  }
}

class ParkedCall {
  readonly owner: string;
  readonly #forget: (id: string) => void;
  readonly #abort = new AbortController();
  #leg: Leg | undefined;
  #detach: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #id: string | undefined;
  #outcome: Promise<CallOutcome> = Promise.reject(new Error("not started"));
  #questions: { question: Question; resolve: (answer: JsonObject) => void; reject: (error: Error) => void }[] = [];
  #asked: (() => void) | undefined;

  constructor(owner: string, forget: (id: string) => void) {
    this.owner = owner;
    this.#forget = forget;
    this.#outcome.catch(ignoreUntilFollowed);
  }

  /** The call's own view of whichever request is open now. */
  leg(): Leg {
    return {
      signal: this.#abort.signal,
      progress: (progress) => this.#leg?.progress?.(progress),
      notify: (notification) => this.#leg?.notify?.(notification),
    };
  }

  follow(outcome: Promise<CallOutcome>): void {
    this.#outcome = outcome;
    outcome.catch(ignoreUntilFollowed);
  }

  attach(leg: Leg): void {
    clearTimeout(this.#timer);
    this.#leg = leg;
    const onAbort = () => this.#abort.abort(leg.signal.reason);
    if (leg.signal.aborted) onAbort();
    else leg.signal.addEventListener("abort", onAbort, { once: true });
    this.#detach = () => leg.signal.removeEventListener("abort", onAbort);
  }

  ask(question: Question): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      this.#questions.push({ question, resolve, reject });
      this.#asked?.();
    });
  }

  answer(answer: JsonObject | undefined): void {
    // Without an answer the same question is put again (MCP 2026-07-28: missing answers = ask again).
    if (answer) this.#questions.shift()?.resolve(answer);
  }

  async turn(park: (call: ParkedCall) => string): Promise<Turn> {
    const asked = new Promise<"asked">((resolve) => {
      this.#asked = () => resolve("asked");
      if (this.#questions.length > 0) resolve("asked");
    });
    const first = await Promise.race([this.#outcome, asked]);
    this.#asked = undefined;
    this.#detach?.();
    if (first !== "asked") return { kind: "outcome", outcome: first };
    const question = this.#questions[0]?.question;
    if (!question) throw new JackfieldError("internal", { detail: "asked without a question" });
    this.#leg = undefined;
    return { kind: "question", id: park(this), question };
  }

  park(id: string, ttlMs: number): void {
    this.#id = id;
    this.#timer = setTimeout(() => this.abandon("nobody answered in time"), ttlMs);
    this.#timer.unref();
  }

  abandon(why: string): void {
    clearTimeout(this.#timer);
    if (this.#id) this.#forget(this.#id);
    const error = new JackfieldError("call_lost", { detail: why });
    for (const { reject } of this.#questions) reject(error);
    this.#questions = [];
    this.#abort.abort(error);
  }
}

/** A parked call may fail while nobody waits for it; its failure is told by `turn`, or audited by the pipeline. */
function ignoreUntilFollowed(): void {}
