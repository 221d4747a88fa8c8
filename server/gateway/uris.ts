/** Resources outside a transparent endpoint: `jackfield://<connection>/<encoded uri>` (design section 6). */

const SCHEME = "jackfield://";

/** The public address of an upstream's resource. */
export function publicUri(slug: string, uri: string): string {
  return `${SCHEME}${slug}/${encodeURIComponent(uri)}`;
}

/** The same for a URI template (RFC 6570): its expressions stay as they are, so that a client can fill them in. */
export function publicTemplate(slug: string, template: string): string {
  const parts = template.split(/(\{[^{}]*\})/);
  return `${SCHEME}${slug}/${parts.map((part, index) => (index % 2 === 1 ? part : encodeURIComponent(part))).join("")}`;
}

/** Back to connection and upstream address; undefined for anything that is not such an address. */
export function parsePublicUri(uri: string): { slug: string; uri: string } | undefined {
  if (!uri.startsWith(SCHEME)) return undefined;
  const slash = uri.indexOf("/", SCHEME.length);
  if (slash < 0) return undefined;
  const slug = uri.slice(SCHEME.length, slash);
  try {
    // A value that a client filled into a template was encoded once more; what a URI cannot hold is encoded again.
    return { slug, uri: decodeURIComponent(uri.slice(slash + 1)).replace(/[^\x21-\x7e]/gu, encodeURIComponent) };
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** The same for the address of a template; its expressions were never encoded. */
export function parsePublicTemplate(uri: string): { slug?: string; uri: string } {
  const parts = uri.split(/(\{[^{}]*\})/);
  const decoded = parsePublicUri(
    parts.map((part, index) => (index % 2 === 1 ? encodeURIComponent(part) : part)).join(""),
  );
  return decoded ?? { uri };
}

/** Whether `uri` is what the template (RFC 6570, simple expressions) can produce. Linear in both. */
export function matchesTemplate(template: string, uri: string): boolean {
  const literals = template.split(/\{[^{}]*\}/);
  const [first = "", ...rest] = literals;
  if (rest.length === 0) return uri === first;
  if (!uri.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop() ?? "";
  for (const literal of rest) {
    const found = uri.indexOf(literal, at);
    if (found < 0) return false;
    at = found + literal.length;
  }
  return uri.endsWith(last) && uri.length - last.length >= at;
}
