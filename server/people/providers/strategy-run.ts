/** Runs one strategy of passport for one request, and answers with what came of it instead of acting on it. */
import passport from "passport";
import { SignInRefused } from "./provider.ts";

/** Any strategy: the types of passport know only those that were made with one version of the types of express. */
export interface AnyStrategy {
  authenticate(this: never, request: never, options: never): unknown;
}

export type StrategyOutcome = { readonly kind: "redirect"; readonly url: string } | { readonly kind: "verified" };

/**
 * Runs a strategy that was made for this request alone: passport hangs what ends a request on the strategy itself, so
 * that a shared one could answer one browser with what another one asked.
 * @param request as far as the strategy looks at it
 * Rejects with `SignInRefused` where the strategy failed or threw.
 */
export function runStrategy(strategy: AnyStrategy, request: object): Promise<StrategyOutcome> {
  return new Promise((resolve, reject) => {
    let location = "";
    const response = {
      statusCode: 200,
      setHeader(name: string, value: string) {
        if (name.toLowerCase() === "location") location = value;
      },
      end: () => resolve({ kind: "redirect", url: location }),
    };
    const done = (error: unknown, user?: unknown, info?: unknown): void => {
      if (error) reject(refused(error));
      else if (user) resolve({ kind: "verified" });
      else reject(new SignInRefused(textOfInfo(info), { declined: /access_denied/.test(JSON.stringify(info ?? "")) }));
    };
    const authenticator = new passport.Passport();
    const run: unknown = Reflect.apply(authenticator.authenticate, authenticator, [strategy, { session: false }, done]);
    if (typeof run !== "function") throw new TypeError("passport gave no middleware");
    run(request, response, (error?: unknown) => reject(refused(error ?? "the strategy passed the request on")));
  });
}

function refused(error: unknown): SignInRefused {
  if (error instanceof SignInRefused) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return new SignInRefused(`${error instanceof Error ? error.message : String(error)}${cause}`, { cause: error });
}

function textOfInfo(info: unknown): string {
  if (typeof info === "object" && info !== null && "message" in info) return String(info.message);
  return typeof info === "string" ? info : "the provider's answer was not good";
}
