/** What is written down of a file's name and type. Both come from strangers, and both are shown to people and models. */

const MAX_NAME = 120;

/**
 * A file name without folders, control and invisible characters, and what a file system or a header would read as
 * something else.
 * @returns `file` where nothing is left
 */
export function cleanFileName(given: string | undefined): string {
  const last = (given ?? "").toWellFormed().normalize("NFC").split(/[\\/]/).pop() ?? "";
  const clean = last
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]+/gu, "")
    .replace(/[<>:"|?*]+/g, "_")
    .replace(/\s+/g, " ")
    .replace(/^[. ]+|[. ]+$/g, "");
  if (clean.length <= MAX_NAME) return clean === "" ? "file" : clean;
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(clean)?.[0] ?? "";
  return clean.slice(0, MAX_NAME - extension.length).toWellFormed() + extension;
}

/** A media type without parameters (RFC 6838, 4.2), in lower case; `application/octet-stream` where it is none. */
export function cleanMediaType(given: string | undefined): string {
  const [type = ""] = (given ?? "").split(";");
  const clean = type.trim().toLowerCase();
  const legal = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/.test(clean);
  return legal ? clean : "application/octet-stream";
}
