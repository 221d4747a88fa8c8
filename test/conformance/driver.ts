/**
 * What the official client suite starts for each scenario: it hands the scenario to the stage of client.ts, where the
 * server plays it, and ends as that did. The suite appends the URL of its own server to the command.
 */
import { z } from "zod";

const Answer = z.object({ passed: z.boolean(), report: z.array(z.string()) });

const { CONFORMANCE_STAGE: stage = "", MCP_CONFORMANCE_SCENARIO: name = "" } = process.env;
const { MCP_CONFORMANCE_CONTEXT: context = "{}", MCP_CONFORMANCE_PROTOCOL_VERSION: version } = process.env;

const response = await fetch(stage, {
  method: "POST",
  body: JSON.stringify({ name, url: process.argv.at(-1), version, context: JSON.parse(context) }),
});
const { passed, report } = Answer.parse(await response.json());
for (const line of report) process.stdout.write(`${line}\n`);
process.exitCode = passed ? 0 : 1;
