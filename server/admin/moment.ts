/** A moment as pages show it, in UTC to the minute; `never` for none. */
export function moment(date: Date | null): string {
  return date === null ? "never" : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
