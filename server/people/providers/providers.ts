/** The sign-in providers that `jackfield.yml` names now. */
import type { JackfieldFile } from "../../connections/schema.ts";
import type { SignInProviderFile } from "../../connections/sign-in-schema.ts";
import type { Egress } from "../../egress/fetch.ts";
import { JackfieldError } from "../../errors.ts";
import { createGitHubProvider } from "./github.ts";
import { createOpenIdProvider, GOOGLE } from "./openid.ts";
import type { SignInProvider } from "./provider.ts";
import { createSamlProvider } from "./saml.ts";

export interface Providers {
  /** In the order of the file. */
  list(): readonly SignInProvider[];
  get(id: string): SignInProvider | undefined;
}

export interface ProvidersOptions {
  /** `jackfield.yml`, as it was read last. */
  readonly jackfield: () => Pick<JackfieldFile, "signIn">;
  /** Where `${env:NAME}` is looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly egress: Pick<Egress, "namedBy">;
  /** Origin under which browsers reach this server. */
  readonly publicUrl: () => string;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Path at which answers of a provider arrive. */
export function callbackPath(id: string): string {
  return `/sign-in/with/${id}/callback`;
}

/** Path of the document that describes us to a provider of SAML. */
export function metadataPath(id: string): string {
  return `/sign-in/with/${id}/metadata`;
}

export function createProviders(options: ProvidersOptions): Providers {
  // By the object that was read: another reading of the file makes providers anew.
  const made = new WeakMap<SignInProviderFile, SignInProvider>();

  function providerOf(file: SignInProviderFile): SignInProvider {
    const known = made.get(file);
    if (known !== undefined) return known;
    const provider = make(file, options);
    made.set(file, provider);
    return provider;
  }

  return {
    list: () => options.jackfield().signIn.map(providerOf),
    get(id) {
      const file = options.jackfield().signIn.find((one) => one.id === id);
      return file && providerOf(file);
    },
  };
}

function make(file: SignInProviderFile, { env, egress, publicUrl, clock }: ProvidersOptions): SignInProvider {
  const variable = (name: string): string => {
    const value = env[name];
    if (value === undefined || value === "") {
      throw new JackfieldError("missing_variable", { text: `Missing ${name}`, detail: `sign-in provider ${file.id}` });
    }
    return value;
  };
  const filled = (text: string): string => {
    const name = /^\$\{env:(.+)\}$/.exec(text)?.[1];
    return name === undefined ? text : variable(name);
  };
  const callbackUrl = `${publicUrl()}${callbackPath(file.id)}`;
  switch (file.type) {
    case "oidc":
    case "google": {
      const { clientId, clientSecret } = file;
      const issuer = new URL(file.type === "google" ? GOOGLE : file.issuer);
      return createOpenIdProvider({
        file,
        callbackUrl,
        client: () => ({
          id: filled(clientId),
          secret: clientSecret === undefined ? undefined : variable(clientSecret),
        }),
        fetch: () => egress.namedBy(issuer),
        clock,
      });
    }
    case "github": {
      const server = new URL(file.url);
      return createGitHubProvider({
        file,
        callbackUrl,
        client: () => ({ id: filled(file.clientId), secret: variable(file.clientSecret) }),
        fetch: () => egress.namedBy(server),
      });
    }
    case "saml":
      return createSamlProvider({
        file,
        callbackUrl,
        metadataUrl: `${publicUrl()}${metadataPath(file.id)}`,
        signingKey: () => (file.signingKey === undefined ? undefined : variable(file.signingKey)),
      });
  }
}
