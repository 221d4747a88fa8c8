import { JackfieldError } from "../errors.ts";
import type { VaultChoice } from "../vault/open.ts";
import type { LoadedConfig } from "./files.ts";
import { problemText } from "./yaml-file.ts";

/**
 * Where `jackfield.yml` keeps secrets. It holds until the process ends: a reload does not move them.
 * @throws JackfieldError `config_invalid` where that file is wrong: secrets must not go anywhere else meanwhile
 */
export function vaultChoiceOf({ jackfield, errors }: LoadedConfig): VaultChoice {
  const wrong = errors.filter(({ file }) => /^jackfield\.ya?ml$/.test(file));
  if (wrong.length > 0) throw new JackfieldError("config_invalid", { text: wrong.map(problemText).join("\n") });
  return jackfield.vault;
}
