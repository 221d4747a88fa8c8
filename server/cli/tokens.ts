/** What the token commands share: the organization and the endpoints a command names. */

import { existsSync } from "node:fs";
import type { Config } from "../config.ts";
import { DEFAULT_ENDPOINT } from "../connections/default-endpoint.ts";
import { configurationEnv } from "../connections/environment.ts";
import { FIRST_ENVIRONMENT, FIRST_ORGANIZATION, loadConfigDir } from "../connections/files.ts";
import { JackfieldError } from "../errors.ts";
import { plainUsername } from "../people/people.ts";
import type { Store } from "../store/database.ts";
import type { OrganizationRow } from "../store/models/organizations.ts";
import type { CliIo } from "./io.ts";
import type { Workplace } from "./workplace.ts";

export { DEFAULT_ENDPOINT, FIRST_ORGANIZATION };

/** @throws JackfieldError `not_found` naming the organizations there are */
export async function organizationOf(store: Store, slug: string): Promise<OrganizationRow> {
  const row = await store.models.organizations.findOne({ where: { slug } });
  if (row !== null) return row;
  const all = await store.models.organizations.findAll({ order: [["slug", "ASC"]] });
  const names = all.map((organization) => organization.slug).join(", ") || "none yet, start the server once";
  throw new JackfieldError("not_found", { text: `There is no organization ${slug} (there are: ${names}).` });
}

/** The id of a member. @throws JackfieldError `not_found` */
export async function memberOf(
  store: Store,
  { id: organizationId }: OrganizationRow,
  username: string,
): Promise<string> {
  const { people, members } = store.models;
  const person = await people.findOne({ where: { username: plainUsername(username), disabledAt: null } });
  const member = person && (await members.findOne({ where: { organizationId, personId: person.id } }));
  if (member) return member.personId;
  throw new JackfieldError("not_found", { text: `No member of the organization has the username ${username}.` });
}

/**
 * The ids of an organization's endpoints with these slugs. A slug may exist in several environments of one
 * organization; the one in its first environment is meant, because that one has the URL `/mcp/<slug>`.
 *
 * An endpoint whose file is there but was not published yet gets its identity now: publishing finds it again, so a
 * token can be made before the first start and before a reload.
 * @throws JackfieldError `not_found` naming the endpoints there are
 */
export async function endpointIdsOf(
  { store, config }: Pick<Workplace, "store" | "config">,
  organization: OrganizationRow,
  slugs: string[],
  env: CliIo["env"],
): Promise<string[]> {
  const environments = await store.models.environments.findAll({
    where: { organizationId: organization.id },
    order: [["id", "ASC"]],
  });
  const order = new Map(environments.map((environment, index) => [environment.id, index]));
  const rows = await store.models.endpoints.findAll({ where: { environmentId: [...order.keys()] } });
  rows.sort((a, b) => (order.get(a.environmentId) ?? 0) - (order.get(b.environmentId) ?? 0));
  const ids: string[] = [];
  for (const slug of slugs) {
    const known = rows.find((row) => row.slug === slug)?.id;
    const declaredIn = known === undefined ? declaringEnvironment(config, env, organization.slug, slug) : undefined;
    const environment = environments.find((candidate) => candidate.slug === declaredIn);
    if (known !== undefined) ids.push(known);
    else if (environment !== undefined) ids.push(await identify(store, environment.id, slug));
    else {
      const names = [...new Set(rows.map((row) => row.slug))].sort().join(", ") || "none";
      throw new JackfieldError("not_found", { text: `There is no endpoint ${slug} (there are: ${names}).` });
    }
  }
  return ids;
}

async function identify(store: Store, environmentId: string, slug: string): Promise<string> {
  const [row] = await store.models.endpoints.findOrCreate({ where: { environmentId, slug } });
  return row.id;
}

/** Slug of the environment in whose files the endpoint is declared; the default one needs no file. */
function declaringEnvironment(
  config: Config,
  env: CliIo["env"],
  organization: string,
  endpoint: string,
): string | undefined {
  if (endpoint === DEFAULT_ENDPOINT) return FIRST_ENVIRONMENT;
  if (!existsSync(config.configDir)) return undefined;
  const loaded = loadConfigDir(config.configDir, configurationEnv(env, config)).organizations.find(
    ({ slug }) => slug === organization,
  );
  return loaded?.environments.find(({ endpoints }) => endpoints.some(({ slug }) => slug === endpoint))?.slug;
}
