/**
 * The index of one visible set of tools: BM25F (Robertson and Zaragoza, "The Probabilistic Relevance Framework",
 * section 3.6) with the weighted term frequencies laid down in typed arrays. Nothing outside the set influences it.
 */
import { connectionTerms, FIELD_WEIGHTS, FIELDS, ownTerms, type SearchDocument, type Terms } from "./documents.ts";

export type { SearchDocument } from "./documents.ts";

export interface Posting {
  /** Document numbers, ascending. */
  readonly documents: Int32Array;
  /** Length-normalised, field-weighted term frequencies. */
  readonly frequencies: Float32Array;
  readonly idf: number;
}

export interface SearchIndex {
  readonly documents: readonly SearchDocument[];
  readonly postings: ReadonlyMap<string, Posting>;
  /** Connections by slug with the numbers of their documents. */
  readonly connections: ReadonlyMap<string, IndexedConnection>;
  /** The largest idf a term can have here: what a term that occurs once gets. */
  readonly maxIdf: number;
  /** Terms of one document, its connection's included. */
  termsOf(document: number): ReadonlySet<string>;
}

export interface IndexedConnection {
  readonly slug: string;
  readonly label: string;
  readonly aliases: readonly string[];
  readonly documents: readonly number[];
}

const B = 0.75;

/** Builds the index; documents keep their order, which decides ties. Milliseconds for thousands of known tools. */
export function buildIndex(documents: readonly SearchDocument[]): SearchIndex {
  const connections = new Map<
    string,
    { slug: string; label: string; aliases: readonly string[]; documents: number[] }
  >();
  const shared = new Map<string, Terms>();
  const own: Terms[] = [];
  const totals = Array.from({ length: FIELDS }, () => 0);
  documents.forEach((document, at) => {
    let connection = connections.get(document.connection);
    if (connection === undefined) {
      const { connection: slug, connectionLabel: label, aliases } = document;
      connection = { slug, label, aliases, documents: [] };
      connections.set(slug, connection);
      shared.set(slug, connectionTerms(document));
    }
    connection.documents.push(at);
    const terms = ownTerms(document);
    own.push(terms);
    for (const part of [terms, shared.get(document.connection)!]) {
      part.lengths.forEach((length, field) => {
        totals[field] = totals[field]! + length;
      });
    }
  });
  const averages = totals.map((total) => total / Math.max(1, documents.length) || 1);

  const lists = new Map<string, { documents: number[]; frequencies: number[] }>();
  const post = (at: number, part: Terms) => {
    const norms = part.lengths.map(
      (length, field) => FIELD_WEIGHTS[field]! / (1 - B + (B * length) / averages[field]!),
    );
    part.terms.forEach((term, row) => {
      let weight = 0;
      for (let field = 0; field < FIELDS; field += 1) {
        const tf = part.tf[row * FIELDS + field]!;
        if (tf > 0) weight += tf * norms[field]!;
      }
      let list = lists.get(term);
      if (list === undefined) {
        list = { documents: [], frequencies: [] };
        lists.set(term, list);
      }
      const last = list.documents.length - 1;
      if (list.documents[last] === at) list.frequencies[last] = list.frequencies[last]! + weight;
      else {
        list.documents.push(at);
        list.frequencies.push(weight);
      }
    });
  };
  documents.forEach((document, at) => {
    post(at, own[at]!);
    post(at, shared.get(document.connection)!);
  });

  const count = documents.length;
  const idfOf = (found: number) => Math.log(1 + (count - found + 0.5) / (found + 0.5));
  const postings = new Map<string, Posting>();
  for (const [term, list] of lists) {
    postings.set(term, {
      documents: Int32Array.from(list.documents),
      frequencies: Float32Array.from(list.frequencies),
      idf: idfOf(list.documents.length),
    });
  }
  return {
    documents,
    postings,
    connections,
    maxIdf: idfOf(1),
    termsOf: (at) => new Set([...own[at]!.terms, ...shared.get(documents[at]!.connection)!.terms]),
  };
}
