/**
 * What the code of an action says that it uses. It is read from the text of its function, so it is a hint and no proof:
 * what an action really uses fails when it is called.
 */
import { isWork } from "./find.ts";

const SIGNS: readonly (readonly [need: string, sign: RegExp])[] = [
  [
    "flow",
    /\b(?:createWaitpoint|waitForWaitpoint|generateResumeUrl)\b|\brun\.pause\b|\bflows\.list\b|\bserver\.(?:apiUrl|publicUrl|token)\b/,
  ],
  ["browser", /playwright|puppeteer|chromium/],
  ["answer", /\brun\.(?:respond|stop)\b/],
  ["store", /\.store\.(?:get|put|delete)\b/],
];

/** `flow`, `browser`, `answer` (of a flow's run) and `store` (of a flow), as far as the function names them. */
export function needsOf(run: unknown): string[] {
  if (!isWork(run)) return [];
  const text = Function.prototype.toString.call(run);
  return SIGNS.filter(([, sign]) => sign.test(text)).map(([need]) => need);
}
