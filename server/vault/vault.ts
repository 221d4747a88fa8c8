/** Seals secrets on their way into a store, and opens them on their way out. */
import type { SealedSecrets, SecretRef, SecretStore, Vault } from "./contract.ts";
import type { Keyring } from "./keyring.ts";
import { createResealer, secretAad } from "./reseal.ts";
import { open, seal } from "./seal.ts";

/** Makes the vault on a store of sealed texts. */
export function createVault(keyring: Keyring, secrets: SecretStore): Vault {
  return {
    async put(ref, value, transaction) {
      await secrets.write(ref, seal(keyring, value, secretAad(ref)), transaction);
    },
    async read(ref) {
      const sealed = (await secrets.read(ref.owner)).get(ref.field);
      return sealed === undefined ? undefined : open(keyring, sealed, secretAad(ref));
    },
    async load(organizationId, owner) {
      return sealedSecrets(keyring, { organizationId, owner }, await secrets.read(owner));
    },
    delete: (owner, transaction) => secrets.delete(owner, transaction),
    async fields(owner) {
      return [...(await secrets.read(owner)).keys()].sort();
    },
    async reseal() {
      const resealer = createResealer(keyring);
      await secrets.rewrite(resealer.change);
      return resealer.counts;
    },
  };
}

function sealedSecrets(
  keyring: Keyring,
  of: Omit<SecretRef, "field">,
  sealed: ReadonlyMap<string, string>,
): SealedSecrets {
  return {
    fields: [...sealed.keys()].sort(),
    open(field) {
      const text = sealed.get(field);
      return text === undefined ? undefined : open(keyring, text, secretAad({ ...of, field }));
    },
  };
}
