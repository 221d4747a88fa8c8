/** The pages of signing in to a connection: what `signin/` needs of them. */
import type { Cookies } from "../people/cookies.ts";
import { ATTEMPT_MS } from "../signin/attempts.ts";
import type { SignInPages } from "../signin/pages.ts";
import { setPageHeaders } from "./headers.ts";
import type { Pages } from "./pages.ts";

export function createSignInPages(pages: Pages, cookies: Cookies): SignInPages {
  return {
    personOf: (request) => pages.personOf(request),
    requirePerson: (request, response) => pages.requirePerson(request, response),
    show: (response, page) => pages.renderMessage(response, page),
    redirect(response, url) {
      // The answer to a form of ours may end at the service's own page.
      setPageHeaders(response, "away");
      response.redirect(303, url);
    },
    browserOf: (request) => cookies.read(request, "upstream"),
    markBrowser: (response, value) => {
      response.append("set-cookie", cookies.write("upstream", value, ATTEMPT_MS));
    },
  };
}
