/** What the handlers of the API work with. A group of routes that needs something more adds it here and in `app.ts`. */
import type { Registry } from "../connections/registry.ts";
import type { TokenDesk } from "../people/token-desk.ts";
import type { ApiServerParts } from "./serve.ts";

export interface ApiParts extends ApiServerParts {
  readonly registry: Registry;
  readonly tokenDesk: TokenDesk;
}
