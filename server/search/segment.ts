/**
 * The part of an index that one connection's tools make: weighted term frequencies (BM25F: Robertson and Zaragoza, "The
 * Probabilistic Relevance Framework", section 3.6) in typed arrays. A segment depends on nothing but its own documents,
 * so that it is built once, a little at a time, and shared by every index that holds exactly these documents.
 */
import { connectionTerms, FIELD_WEIGHTS, FIELDS, ownTerms, type SearchDocument, type Terms } from "./documents.ts";

export interface Segment {
  readonly connection: string;
  readonly documents: readonly SearchDocument[];
  /** Row of each term. */
  readonly rows: ReadonlyMap<string, number>;
  /** Where each row begins in the two arrays below; one more at the end. */
  readonly starts: Uint32Array;
  /** Numbers of documents within the segment, ascending in each row. */
  readonly found: Uint32Array;
  /** Length-normalised, field-weighted term frequencies. */
  readonly frequencies: Float32Array;
  /** Terms of one document, its connection's included. */
  termsOf(document: number): ReadonlySet<string>;
  /** Its terms of one length, for what may be typing errors. */
  termsOfLength(length: number): readonly string[];
}

const B = 0.75;
/**
 * Typical lengths of the fields in terms, measured over catalogues that exist. Averages of the documents themselves
 * would make every frequency depend on every other tool.
 */
const TYPICAL_LENGTHS = [3, 0.7, 16, 4.7, 12, 2.2, 6, 3] as const;

/** Builds a segment document by document; all documents are of one connection. */
export class SegmentBuilder {
  readonly #documents: SearchDocument[] = [];
  readonly #own: Terms[] = [];
  readonly #shared: Terms | undefined;
  readonly #rows = new Map<string, number>();
  readonly #lists: { found: number[]; frequencies: number[] }[] = [];

  constructor(first: SearchDocument | undefined) {
    this.#shared = first === undefined ? undefined : connectionTerms(first);
  }

  add(document: SearchDocument): void {
    const at = this.#documents.length;
    const terms = ownTerms(document);
    this.#documents.push(document);
    this.#own.push(terms);
    this.#post(at, terms);
    if (this.#shared !== undefined) this.#post(at, this.#shared);
  }

  finish(): Segment {
    const size = this.#lists.reduce((sum, { found }) => sum + found.length, 0);
    const [starts, found, frequencies] = [
      new Uint32Array(this.#lists.length + 1),
      new Uint32Array(size),
      new Float32Array(size),
    ];
    let next = 0;
    for (const [row, list] of this.#lists.entries()) {
      starts[row] = next;
      found.set(list.found, next);
      frequencies.set(list.frequencies, next);
      next += list.found.length;
    }
    starts[this.#lists.length] = next;
    const [own, shared, rows] = [this.#own, this.#shared?.terms ?? [], this.#rows];
    let byLength: Map<number, string[]> | undefined;
    return {
      connection: this.#documents[0]?.connection ?? "",
      documents: this.#documents,
      rows,
      starts,
      found,
      frequencies,
      termsOf: (document) => new Set([...own[document]!.terms, ...shared]),
      termsOfLength(length) {
        byLength ??= Map.groupBy(rows.keys(), (term) => term.length);
        return byLength.get(length) ?? [];
      },
    };
  }

  #post(at: number, part: Terms): void {
    const norms = part.lengths.map(
      (length, field) => FIELD_WEIGHTS[field]! / (1 - B + (B * length) / TYPICAL_LENGTHS[field]!),
    );
    part.terms.forEach((term, row) => {
      let weight = 0;
      for (let field = 0; field < FIELDS; field += 1) {
        const tf = part.tf[row * FIELDS + field]!;
        if (tf > 0) weight += tf * norms[field]!;
      }
      let list = this.#lists[this.#rows.get(term) ?? -1];
      if (list === undefined) {
        list = { found: [], frequencies: [] };
        this.#rows.set(term, this.#lists.length);
        this.#lists.push(list);
      }
      const last = list.found.length - 1;
      if (list.found[last] === at) list.frequencies[last] = list.frequencies[last]! + weight;
      else {
        list.found.push(at);
        list.frequencies.push(weight);
      }
    });
  }
}
