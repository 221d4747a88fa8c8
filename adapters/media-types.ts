const TEXT =
  /^text\/|[/+](json|xml|yaml|x-yaml|javascript|ecmascript|csv|graphql|x-www-form-urlencoded|x-ndjson|ndjson|jsonl|toml|sql)(-seq)?$/;

/** Whether a media type in lower case, without parameters, is of text. A picture in XML is a picture. */
export function isTextType(type: string): boolean {
  return TEXT.test(type) && !type.startsWith("image/");
}
