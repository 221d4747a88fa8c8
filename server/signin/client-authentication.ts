/** How we prove at a token or revocation endpoint who we are (RFC 6749, 2.3; RFC 7523). */
import { createPrivateKey, type KeyObject, randomUUID, sign } from "node:crypto";
import type { ClientAuthentication } from "./types.ts";

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const ASSERTION_SECONDS = 60;

/**
 * Adds the proof to a request.
 * @param audience issuer of the authorization server, or its token endpoint where that is all we know
 * @param now milliseconds since the epoch
 * @throws TypeError where the private key cannot be read or does not fit its algorithm
 */
export function authenticate(
  client: ClientAuthentication,
  request: { readonly headers: Headers; readonly form: URLSearchParams },
  audience: string,
  now: number,
): void {
  const { headers, form } = request;
  switch (client.method) {
    case "client_secret_basic": {
      const pair = `${formEncode(client.clientId)}:${formEncode(client.secret ?? "")}`;
      headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
      return;
    }
    case "client_secret_post":
      form.set("client_id", client.clientId);
      form.set("client_secret", client.secret ?? "");
      return;
    case "private_key_jwt":
      form.set("client_id", client.clientId);
      form.set("client_assertion_type", ASSERTION_TYPE);
      form.set("client_assertion", assertion(client, audience, now));
      return;
    case "none":
      form.set("client_id", client.clientId);
  }
}

/** RFC 7523, section 3. Made anew for each request, because an authorization server may take each one once only. */
function assertion(client: ClientAuthentication, audience: string, now: number): string {
  const key = privateKeyOf(client.privateKey ?? "");
  const algorithm = client.algorithm ?? defaultAlgorithm(key);
  const issued = Math.floor(now / 1000);
  const { clientId } = client;
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: audience,
    iat: issued,
    exp: issued + ASSERTION_SECONDS,
    jti: randomUUID(),
  };
  const signed = `${encoded({ alg: algorithm, typ: "JWT" })}.${encoded(claims)}`;
  return `${signed}.${signature(algorithm, key, signed).toString("base64url")}`;
}

/** A PEM, or a JWK as JSON. */
function privateKeyOf(text: string): KeyObject {
  try {
    if (text.trimStart().startsWith("{")) return createPrivateKey({ key: JSON.parse(text), format: "jwk" });
    return createPrivateKey(text);
  } catch {
    // The cause may quote the key.
    throw new TypeError("The private key is neither a PEM nor a JWK that can be read.");
  }
}

const CURVES: Readonly<Record<string, string>> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" };

function defaultAlgorithm(key: KeyObject): string {
  if (key.asymmetricKeyType === "rsa") return "RS256";
  if (key.asymmetricKeyType === "ed25519") return "EdDSA";
  const algorithm = CURVES[key.asymmetricKeyDetails?.namedCurve ?? ""];
  if (algorithm === undefined) throw new TypeError("The private key is of a kind that cannot sign assertions.");
  return algorithm;
}

/** RFC 7518, 3.3 to 3.5; RFC 8037. */
function signature(algorithm: string, key: KeyObject, signed: string): Buffer {
  const data = Buffer.from(signed);
  const fits = {
    RS: key.asymmetricKeyType === "rsa",
    PS: key.asymmetricKeyType === "rsa",
    ES: CURVES[key.asymmetricKeyDetails?.namedCurve ?? ""] === algorithm,
    Ed: key.asymmetricKeyType === "ed25519" && algorithm === "EdDSA",
  }[algorithm.slice(0, 2)];
  if (fits !== true) throw new TypeError(`The private key does not fit the algorithm ${algorithm}.`);
  if (algorithm === "EdDSA") return sign(null, data, key);
  const hash = `sha${algorithm.slice(2)}`;
  if (algorithm.startsWith("ES")) return sign(hash, data, { key, dsaEncoding: "ieee-p1363" });
  if (algorithm.startsWith("RS")) return sign(hash, data, key);
  // RSA_PKCS1_PSS_PADDING with a salt as long as the hash.
  return sign(hash, data, { key, padding: 6, saltLength: -1 });
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** application/x-www-form-urlencoded, which RFC 6749, 2.3.1 asks for before id and secret are joined. */
function formEncode(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}
