import { UniqueConstraintError } from "sequelize";
import { DEFAULT_ENDPOINT } from "../connections/default-endpoint.ts";
import { FIRST_ENVIRONMENT } from "../connections/files.ts";
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import type { OrganizationRow } from "../store/models/organizations.ts";

const SLUG = /^[a-z][a-z0-9-]{0,47}$/;

export interface NewOrganization {
  id: string;
  environmentId: string;
  endpointId: string;
}

/**
 * Makes an organization with its first environment and the identity of its default endpoint.
 * Throws `config_invalid` where the slug has the wrong form or is taken.
 */
export async function createOrganization(
  store: Store,
  { slug, name }: { slug: string; name: string },
): Promise<NewOrganization> {
  if (!SLUG.test(slug)) {
    const rule = "it starts with a letter and has at most 48 lower-case letters, digits and hyphens";
    throw new JackfieldError("config_invalid", { text: `${JSON.stringify(slug)} cannot be a slug: ${rule}.` });
  }
  const { organizations, environments, endpoints } = store.models;
  try {
    return await store.transaction(async (transaction) => {
      const { id } = await organizations.create({ slug, name }, { transaction });
      const environment = await environments.create(
        { organizationId: id, slug: FIRST_ENVIRONMENT, name: "Main" },
        { transaction },
      );
      const endpoint = await endpoints.create(
        { environmentId: environment.id, slug: DEFAULT_ENDPOINT },
        { transaction },
      );
      return { id, environmentId: environment.id, endpointId: endpoint.id };
    });
  } catch (cause) {
    if (!(cause instanceof UniqueConstraintError)) throw cause;
    throw new JackfieldError("config_invalid", { text: `There is an organization ${slug} already.`, cause });
  }
}

/** The organization with this slug; undefined where there is none. */
export async function findOrganization(store: Store, slug: string): Promise<OrganizationRow | undefined> {
  const row = await store.models.organizations.findOne({ where: { slug } });
  return row?.get({ plain: true });
}

/** Its id; undefined where there is none. */
export async function organizationIdOf(store: Store, slug: string): Promise<string | undefined> {
  return (await findOrganization(store, slug))?.id;
}
