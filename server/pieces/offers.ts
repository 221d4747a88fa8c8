/**
 * What is offered: the pieces that `jackfield.yml` lists, or, where it lists none, those that were installed by
 * command. A connection names one by its id; what the offer says becomes part of the connection as it is served, so
 * that a piece which is withdrawn, or installed anew, changes every connection of it at once.
 */
import type { JsonObject } from "../../adapters/contract.ts";
import { needsNoCredential } from "../../adapters/pieces/auth.ts";
import type { AuthForm, PieceDescription } from "../../adapters/pieces/description.ts";
import type { Activepieces, PieceOffer } from "../connections/pieces-schema.ts";
import { SLUG_PATTERN } from "../gateway/names.ts";
import { readSpec, shortName, specOf } from "./names.ts";
import type { Installed, PieceStore } from "./store.ts";

export interface OfferedPiece {
  offer: PieceOffer;
  /** Undefined while it is not installed. */
  installed: Installed | undefined;
  description: PieceDescription | undefined;
}

/** A piece without authentication that is to be there without a connection of its own. */
export interface FreePiece {
  slug: string;
  id: string;
  version: string;
  label: string;
  description: string;
}

export interface Offers {
  list(): OfferedPiece[];
  /** What a connection of type `ap` gets beside its own keys: `bundle`, or `reason` why there is none. */
  served(config: JsonObject): JsonObject;
  /** @param of `jackfield.yml` that is about to be served */
  free(of: Activepieces | undefined): FreePiece[];
  /** How the piece of this id signs in; undefined where it does not, or is not there. */
  oauth(id: string): NonNullable<AuthForm["oauth"]> | undefined;
  /** Reads again what is installed. */
  reread(): void;
  /** What is offered and not installed. */
  missing(): PieceOffer[];
}

/** @param activepieces of `jackfield.yml`, as it was read last */
export function createOffers(store: PieceStore, activepieces: () => Activepieces | undefined): Offers {
  let installed = store.read();
  const described = new Map<string, PieceDescription | undefined>();
  const descriptionOf = (bundle: string): PieceDescription | undefined => {
    if (!described.has(bundle)) described.set(bundle, store.describe(bundle));
    return described.get(bundle);
  };

  const offersOf = (of: Activepieces | undefined): PieceOffer[] => {
    const listed = of?.pieces;
    if (listed !== undefined) return listed;
    return [...installed.keys()].flatMap((spec) => {
      const piece = readSpec(spec);
      return piece === undefined ? [] : [{ ...piece, id: shortName(piece.name), connect: true }];
    });
  };
  const offers = () => offersOf(activepieces());
  const withState = (offer: PieceOffer): OfferedPiece => {
    const found = installed.get(specOf(offer));
    const matches = found !== undefined && (offer.integrity === undefined || offer.integrity === found.integrity);
    const description = matches ? descriptionOf(found.bundle) : undefined;
    return { offer, installed: description === undefined ? undefined : found, description };
  };
  const find = (id: string, version: string | undefined): OfferedPiece | string => {
    const ofId = offers().filter((offer) => offer.id === id);
    if (ofId.length === 0)
      return `The piece ${id} is not offered on this server. Its operator offers it in jackfield.yml.`;
    const fitting = ofId.filter((offer) => version === undefined || offer.version === version);
    const versions = ofId.map((offer) => offer.version).join(", ");
    const [offer, ...more] = fitting;
    if (offer === undefined) return `Version ${version} of the piece ${id} is not offered; offered: ${versions}.`;
    if (more.length > 0)
      return `The piece ${id} is offered in several versions (${versions}); the connection must name one.`;
    const piece = withState(offer);
    if (piece.installed !== undefined) return piece;
    return `The piece ${specOf(offer)} is not installed. Its operator installs it: pieces install.`;
  };

  return {
    list: () => offers().map(withState),
    served({ piece, version }) {
      const found = find(String(piece), typeof version === "string" ? version : undefined);
      if (typeof found === "string") return { reason: found };
      const { actions, audience, scopes } = found.offer;
      return {
        ...(found.installed === undefined ? {} : { bundle: found.installed.bundle }),
        ...(actions === undefined ? {} : { actions }),
        ...(audience === undefined ? {} : { offeredAudience: audience }),
        ...(scopes === undefined ? {} : { scopes }),
      };
    },
    free(of) {
      return offersOf(of).flatMap((offer) => {
        const { description } = withState(offer);
        if (!offer.connect || description === undefined || !needsNoCredential(description)) return [];
        const { id, version } = offer;
        if (!SLUG_PATTERN.test(id)) return [];
        const label = offer.label ?? (description.title || id);
        return [{ slug: id, id, version, label, description: description.description }];
      });
    },
    oauth(id) {
      const found = find(id, undefined);
      const forms = typeof found === "string" ? [] : (found.description?.auth ?? []);
      return forms.find(({ oauth }) => oauth !== undefined)?.oauth;
    },
    reread() {
      installed = store.read();
      described.clear();
    },
    missing: () => (activepieces()?.pieces ?? []).filter((offer) => withState(offer).installed === undefined),
  };
}
