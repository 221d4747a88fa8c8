/**
 * Signing in through a SAML 2.0 identity provider (Web Browser SSO Profile, SAML profiles section 4.1), begun here.
 * What it says unasked is refused: such an assertion could be somebody else's, brought by another page.
 */

import { randomBytes } from "node:crypto";
import {
  type Profile,
  type SamlConfig,
  Strategy,
  ValidateInResponseTo,
  type VerifyWithoutRequest,
} from "@node-saml/passport-saml";
import type { ProviderFileOf } from "../../connections/sign-in-schema.ts";
import { domainOf, type ExternalIdentity, mappedGroups, textsOf } from "./identity.ts";
import { type ProtocolSession, type SignInProvider, SignInRefused } from "./provider.ts";
import { runStrategy } from "./strategy-run.ts";

/** Clocks of two servers are never the same; milliseconds. */
const SKEW_MS = 60_000;
const REQUEST_MS = 10 * 60_000;
const TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer";

export interface SamlOptions {
  /** Its certificates are texts by now, not paths. */
  readonly file: ProviderFileOf<"saml">;
  readonly callbackUrl: string;
  /** Address of the document that describes us. */
  readonly metadataUrl: string;
  /** Key in PEM with which requests are signed; undefined: not at all. Throws `missing_variable`. */
  readonly signingKey: () => string | undefined;
}

export function createSamlProvider({ file, callbackUrl, metadataUrl, signingKey }: SamlOptions): SignInProvider {
  const entityId = file.entityId ?? metadataUrl;

  /** @param known the id of the request that may be answered, and when it was made */
  function strategyOf(known: Map<string, string>, id: string, found: (profile: Profile) => void): Strategy {
    const privateKey = signingKey();
    const config: SamlConfig = {
      callbackUrl,
      issuer: entityId,
      audience: entityId,
      entryPoint: file.entryPoint,
      idpCert: [file.certificate].flat(),
      idpIssuer: file.issuer,
      identifierFormat: file.nameIdFormat,
      // Whichever way the provider makes sure of somebody is its own affair.
      disableRequestedAuthnContext: true,
      wantAssertionsSigned: true,
      // Few providers sign both. What is read is read out of the signed assertion alone.
      wantAuthnResponseSigned: false,
      acceptedClockSkewMs: SKEW_MS,
      signatureAlgorithm: "sha256",
      digestAlgorithm: "sha256",
      generateUniqueId: () => id,
      validateInResponseTo: ValidateInResponseTo.always,
      requestIdExpirationPeriodMs: REQUEST_MS,
      cacheProvider: {
        saveAsync: async (key, value) => {
          known.set(key, value);
          return { value, createdAt: Date.now() };
        },
        getAsync: async (key) => known.get(key) ?? null,
        removeAsync: async (key) => (key !== null && known.delete(key) ? key : null),
      },
      ...(privateKey === undefined ? {} : { privateKey }),
    };
    const signOn: VerifyWithoutRequest = (read, done) => {
      if (read === null) return done(null, undefined, { message: "the answer holds no assertion" });
      found(read);
      done(null, {});
    };
    const signOut: VerifyWithoutRequest = (_read, done) => done(new Error("signing out from there is not offered"));
    return new Strategy(config, signOn, signOut);
  }

  return {
    file,
    label: file.label ?? "single sign-on",

    async begin(state) {
      const known = new Map<string, string>();
      // Letters first: the id is an NCName in XML.
      const id = `_${randomBytes(20).toString("hex")}`;
      const strategy = strategyOf(known, id, () => undefined);
      const request = { query: { RelayState: state }, body: {}, headers: {}, url: "/", method: "GET" };
      const outcome = await runStrategy(strategy, request);
      const madeAt = known.get(id);
      if (outcome.kind !== "redirect" || madeAt === undefined) throw new SignInRefused("the request could not be made");
      return { url: outcome.url, session: { id, madeAt } };
    },

    async finish(answer, { id, madeAt }: ProtocolSession) {
      const response = answer.get("SAMLResponse") ?? "";
      if (typeof id !== "string" || typeof madeAt !== "string") throw new SignInRefused("the request is not known");
      // Nothing of SAML needs a document type; entities are for attacks.
      if (/<!(?:DOCTYPE|ENTITY)/i.test(Buffer.from(response, "base64").toString("utf8"))) {
        throw new SignInRefused("the answer holds a document type");
      }
      let profile: Profile | undefined;
      const strategy = strategyOf(new Map([[id, madeAt]]), id, (found) => {
        profile = found;
      });
      const body = { SAMLResponse: response };
      await runStrategy(strategy, { query: {}, body, headers: {}, url: "/", method: "POST" });
      if (profile === undefined) throw new SignInRefused("the answer holds no assertion");
      checkProfile(profile, { issuer: file.issuer, request: id, recipient: callbackUrl });
      return identityOf(file, profile);
    },

    metadata() {
      const strategy = strategyOf(new Map(), "_", () => undefined);
      return strategy.generateServiceProviderMetadata(null, null);
    },
  };
}

/**
 * Checks what the library leaves open: whose assertion it is, and that the assertion itself (and not only the response
 * around it, which may be unsigned) answers this request of ours and is meant for this address.
 */
function checkProfile(profile: Profile, own: { issuer: string; request: string; recipient: string }): void {
  if (profile.issuer !== own.issuer) {
    throw new SignInRefused(`the assertion is of another issuer: ${String(profile.issuer).slice(0, 200)}`);
  }
  const assertion: unknown = profile.getAssertion?.();
  const confirmations = children(children(children(assertion, "Assertion")[0], "Subject")[0], "SubjectConfirmation");
  const fits = confirmations.some((confirmation) => {
    const [data] = children(confirmation, "SubjectConfirmationData");
    return (
      attribute(confirmation, "Method") === BEARER &&
      attribute(data, "InResponseTo") === own.request &&
      attribute(data, "Recipient") === own.recipient
    );
  });
  if (!fits) throw new SignInRefused("the assertion does not answer this request, or is not for this address");
  if (typeof profile.nameID !== "string" || profile.nameID === "")
    throw new SignInRefused("the assertion names nobody");
  if (profile.nameIDFormat === TRANSIENT) {
    throw new SignInRefused("the assertion names somebody for this once only; a persistent name is needed");
  }
}

function identityOf(file: ProviderFileOf<"saml">, profile: Profile): ExternalIdentity {
  const { attributes } = profile;
  const claims = typeof attributes === "object" && attributes !== null ? { ...attributes } : {};
  const first = (name: string | undefined): string | undefined =>
    name === undefined ? undefined : textsOf(Reflect.get(claims, name))[0];
  const isAddress = profile.nameIDFormat?.endsWith(":emailAddress") === true;
  const address = first(file.attributes.email) ?? (isAddress ? profile.nameID : undefined);
  const email = file.trustEmail ? address : undefined;
  const domain = email === undefined ? undefined : domainOf(email);
  return {
    issuer: profile.issuer,
    subject: profile.nameID,
    label: address ?? profile.nameID,
    name: first(file.attributes.name),
    login: first(file.attributes.login) ?? address,
    email,
    domains: domain === undefined ? [] : [domain],
    groups: mappedGroups(textsOf(Reflect.get(claims, file.groups?.claim ?? "")), file.groups?.map),
    claims,
  };
}

/** Elements of a name below an element, as the library's XML reader gives them. */
function children(element: unknown, name: string): unknown[] {
  const found: unknown = typeof element === "object" && element !== null ? Reflect.get(element, name) : undefined;
  return found === undefined ? [] : [found].flat();
}

function attribute(element: unknown, name: string): unknown {
  return children(element, "$").map((attributes) => children(attributes, name)[0])[0];
}
