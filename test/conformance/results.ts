/** Reads what the official conformance command prints. */

/** One scenario: how many of its checks passed and failed. */
export interface ScenarioResult {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
}

/** The scenarios of one run; `notScored` ran but do not decide about conformance. */
export interface RunResults {
  readonly scored: readonly ScenarioResult[];
  readonly notScored: readonly ScenarioResult[];
}

/** The suites for clients call it so, those for servers without the first word. */
const SUMMARY = /=== (?:SUITE )?SUMMARY ===/gu;
const SCENARIO = /^[✓✗] (\S+): (\d+) passed, (\d+) failed$/u;
const NOT_SCORED = /^ {2}[✓✗] (\S+) \((?:extension|added-after-release|pending)\)$/u;

/**
 * Parses the output of one run. A summary line reads `<mark> <scenario>: <n> passed, <n> failed`; a run with
 * `--requirements` names those that are not scored again at its end. An output without a summary has no scenarios.
 */
export function parseResults(output: string): RunResults {
  const start = [...output.matchAll(SUMMARY)].at(-1)?.index;
  const lines = start === undefined ? [] : output.slice(start).split(/\r?\n/u);
  const notScored = new Set<string>();
  const results: ScenarioResult[] = [];
  for (const line of lines) {
    const scenario = SCENARIO.exec(line);
    if (scenario) results.push({ name: scenario[1]!, passed: Number(scenario[2]), failed: Number(scenario[3]) });
    const unscored = NOT_SCORED.exec(line);
    if (unscored) notScored.add(unscored[1]!);
  }
  return {
    scored: results.filter(({ name }) => !notScored.has(name)),
    notScored: results.filter(({ name }) => notScored.has(name)),
  };
}
