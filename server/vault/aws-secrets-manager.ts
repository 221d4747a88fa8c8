/**
 * Sealed secrets in AWS Secrets Manager: one of its secrets for each owner, with all fields in one JSON document.
 *
 * The document is replaced by compare-and-set: a new version is stored beside the current one and takes over its
 * label AWSCURRENT only where that still stands at the version that was read. What AWS keeps is sealed with our own
 * key as well, so that neither of the two opens anything alone.
 */
import type * as Aws from "@aws-sdk/client-secrets-manager";
import { z } from "zod";
import { awsRequestHandler } from "../egress/aws-handler.ts";
import { JackfieldError } from "../errors.ts";
import type { SecretStore } from "./contract.ts";
import { secretAad } from "./reseal.ts";

export interface AwsOptions {
  /** Default: what the SDK finds, e.g. `AWS_REGION`. */
  readonly region?: string | undefined;
  /** Beginning of the names in Secrets Manager. */
  readonly prefix: string;
  /** Another address of the service, such as one in a private network. */
  readonly endpoint?: string | undefined;
  /** Guarded way out. The SDK looks for its own credentials (roles of the machine) by itself. */
  readonly fetch: typeof globalThis.fetch;
}

const CURRENT = "AWSCURRENT";
/** Holds a version until it is current; without a label AWS may delete it. */
const NEXT = "jackfield-next";
const TIMEOUT_MS = 15_000;
/** Writers that meet at one secret try again this often. */
const ATTEMPTS = 8;

const document = z.object({ organization: z.string(), sealed: z.record(z.string(), z.string()) });
type Document = z.infer<typeof document>;

interface Version {
  readonly id: string;
  readonly document: Document;
}

/** Opens the store. Throws `start_failed` where the SDK is not installed. */
export async function openAwsSecrets({ region, prefix, endpoint, fetch }: AwsOptions): Promise<SecretStore> {
  const aws = await load();
  const client = new aws.SecretsManagerClient({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    requestHandler: awsRequestHandler(fetch, TIMEOUT_MS),
  });
  const named = (owner: string) => `${prefix}${owner}`;

  const current = async (owner: string): Promise<Version | undefined> => {
    try {
      const found = await client.send(new aws.GetSecretValueCommand({ SecretId: named(owner) }));
      return { id: found.VersionId ?? "", document: document.parse(JSON.parse(found.SecretString ?? "")) };
    } catch (error) {
      if (isNamed(error, "ResourceNotFoundException")) return undefined;
      throw unavailable(error);
    }
  };

  /** @returns whether it was replaced; false where another writer was there first */
  const replace = async (owner: string, from: Version, to: Document): Promise<boolean> => {
    const SecretId = named(owner);
    try {
      const made = await client.send(
        new aws.PutSecretValueCommand({ SecretId, SecretString: JSON.stringify(to), VersionStages: [NEXT] }),
      );
      await client.send(
        new aws.UpdateSecretVersionStageCommand({
          SecretId,
          VersionStage: CURRENT,
          RemoveFromVersionId: from.id,
          MoveToVersionId: made.VersionId,
        }),
      );
      return true;
    } catch (error) {
      if (isNamed(error, "InvalidParameterException")) return false;
      throw unavailable(error);
    }
  };

  /** @returns false where another writer made it first */
  const create = async (owner: string, first: Document): Promise<boolean> => {
    try {
      await client.send(new aws.CreateSecretCommand({ Name: named(owner), SecretString: JSON.stringify(first) }));
      return true;
    } catch (error) {
      if (isNamed(error, "ResourceExistsException")) return false;
      throw unavailable(error);
    }
  };

  const owners = async (): Promise<string[]> => {
    const names: string[] = [];
    let NextToken: string | undefined;
    do {
      const page = await client
        .send(
          new aws.ListSecretsCommand({
            Filters: [{ Key: "name", Values: [prefix] }],
            ...(NextToken === undefined ? {} : { NextToken }),
          }),
        )
        .catch((error: unknown) => {
          throw unavailable(error);
        });
      for (const { Name } of page.SecretList ?? []) if (Name?.startsWith(prefix)) names.push(Name.slice(prefix.length));
      NextToken = page.NextToken;
    } while (NextToken !== undefined);
    return names;
  };

  /** Changes the document of an owner; undefined from `change` leaves it. */
  const update = async (owner: string, change: (before: Document | undefined) => Document | undefined) => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const before = await current(owner);
      const after = change(before?.document);
      if (after === undefined) return;
      if (before === undefined ? await create(owner, after) : await replace(owner, before, after)) return;
    }
    throw new JackfieldError("vault_unavailable", { detail: `${named(owner)} is being written by others` });
  };

  return {
    write: ({ organizationId, owner, field }, sealed) =>
      update(owner, (before) => ({ organization: organizationId, sealed: { ...before?.sealed, [field]: sealed } })),
    async read(owner) {
      return new Map(Object.entries((await current(owner))?.document.sealed ?? {}));
    },
    async delete(owner) {
      try {
        await client.send(new aws.DeleteSecretCommand({ SecretId: named(owner), ForceDeleteWithoutRecovery: true }));
      } catch (error) {
        if (!isNamed(error, "ResourceNotFoundException")) throw unavailable(error);
      }
    },
    async rewrite(change) {
      for (const owner of await owners()) {
        await update(owner, (before) => {
          if (before === undefined) return undefined;
          let changed = false;
          const sealed = Object.entries(before.sealed).map(([field, text]) => {
            const after = change(text, secretAad({ organizationId: before.organization, owner, field }));
            changed ||= after !== undefined;
            return [field, after ?? text];
          });
          return changed ? { ...before, sealed: Object.fromEntries(sealed) } : undefined;
        });
      }
    },
  };
}

async function load(): Promise<typeof Aws> {
  try {
    return await import("@aws-sdk/client-secrets-manager");
  } catch (cause) {
    throw new JackfieldError("start_failed", {
      text: "jackfield.yml keeps secrets in AWS Secrets Manager, which needs: npm install @aws-sdk/client-secrets-manager",
      cause,
    });
  }
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}

function unavailable(error: unknown): JackfieldError {
  if (error instanceof JackfieldError) return error;
  const detail = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new JackfieldError("vault_unavailable", { detail, cause: error });
}
