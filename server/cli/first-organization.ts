/** The organization that every installation has. */

import { FIRST_ORGANIZATION } from "../connections/files.ts";
import { createOrganization } from "../people/organizations.ts";
import type { Store } from "../store/database.ts";

/** Makes the first organization with its environment and endpoint, unless it is there; safe beside other replicas. */
export async function ensureFirstOrganization(store: Store): Promise<void> {
  const where = { slug: FIRST_ORGANIZATION };
  if ((await store.models.organizations.findOne({ where })) !== null) return;
  try {
    await createOrganization(store, { slug: FIRST_ORGANIZATION, name: "Default" });
  } catch (error) {
    // Another replica that starts at this moment may have made it: its row is as good as ours.
    if ((await store.models.organizations.findOne({ where })) === null) throw error;
  }
}
