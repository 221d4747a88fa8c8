/** What we tell authorization servers about ourselves, and the document that they fetch it from. */
import type { OAuthClientMetadata } from "@modelcontextprotocol/client";
import type { Request, Response } from "express";

export const CALLBACK_PATH = "/connections/callback";
export const CLIENT_METADATA_PATH = "/oauth/client-metadata.json";
/** Seconds an authorization server may keep the document. */
const MAX_AGE = 300;

/** The common part of the document and of a dynamic registration. */
export function clientMetadata(publicUrl: string, redirectUris: readonly string[]): OAuthClientMetadata {
  return {
    client_name: "Jackfield",
    client_uri: publicUrl,
    redirect_uris: [...redirectUris],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
}

export interface ClientMetadataParts {
  readonly publicUrl: () => string;
  readonly documentRedirects: () => Promise<string[]>;
}

/** Serves the document (draft-ietf-oauth-client-id-metadata-document): its address is our client id. */
export async function serveClientMetadata(
  { publicUrl, documentRedirects }: ClientMetadataParts,
  _request: Request,
  response: Response,
): Promise<void> {
  const origin = publicUrl();
  const redirects = new Set([origin + CALLBACK_PATH, ...(await documentRedirects())]);
  response
    .set("cache-control", `public, max-age=${MAX_AGE}`)
    .set("x-content-type-options", "nosniff")
    .json({
      client_id: origin + CLIENT_METADATA_PATH,
      ...clientMetadata(origin, [...redirects]),
      application_type: "web",
      token_endpoint_auth_method: "none",
    });
}

/**
 * The document's URL where an authorization server can take it as a client id: over https.
 * @param override a document that the operator hosts elsewhere
 */
export function metadataUrlOf(publicUrl: string, override: string | undefined): string | undefined {
  if (override !== undefined) return override;
  return publicUrl.startsWith("https:") ? publicUrl + CLIENT_METADATA_PATH : undefined;
}
