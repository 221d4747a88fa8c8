import { randomBytes } from "node:crypto";
import type { Store } from "./database.ts";

/** The id of this deployment, made by whoever starts first; all its processes read the same. */
export async function instanceIdOf(store: Store): Promise<string> {
  const key = "instance_id";
  const [row] = await store.models.settings.findOrCreate({
    where: { key },
    defaults: { key, value: randomBytes(12).toString("base64url") },
  });
  return row.value;
}
