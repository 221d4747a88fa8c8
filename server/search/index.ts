/**
 * The index of one visible set of tools: the segments of its connections side by side. Nothing outside the set
 * influences it: how rare a term is is counted over the set alone.
 */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { SearchDocument } from "./documents.ts";
import { type Segment, SegmentBuilder } from "./segment.ts";
import { THESAURUS, type Thesaurus } from "./thesaurus.ts";

export type { SearchDocument } from "./documents.ts";

export interface SearchIndex {
  readonly documents: readonly SearchDocument[];
  readonly segments: readonly PlacedSegment[];
  /** Connections by slug. */
  readonly connections: ReadonlyMap<string, IndexedConnection>;
  readonly thesaurus: Thesaurus;
  /** The largest idf a term can have here: what a term that occurs once gets. */
  readonly maxIdf: number;
  /** How much a term says here; undefined where no document has it. */
  idf(term: string): number | undefined;
  /** Terms of one document, its connection's included. */
  termsOf(document: number): ReadonlySet<string>;
}

export interface PlacedSegment {
  readonly segment: Segment;
  /** Number of its first document in the index. */
  readonly offset: number;
}

export interface IndexedConnection {
  readonly slug: string;
  readonly label: string;
  readonly aliases: readonly string[];
}

/** Documents indexed between two turns of the event loop: a millisecond or two. */
const BATCH = 8;
/** Terms whose rarity an index remembers. */
const MAX_KNOWN = 100_000;
/** Documents that segments are remembered for. */
const MAX_REMEMBERED = 200_000;

/** Builds the index; documents keep their order, which decides ties. Milliseconds where the segments are known. */
export function buildIndex(documents: readonly SearchDocument[], thesaurus: Thesaurus = THESAURUS): SearchIndex {
  return assemble(runs(documents).map(segmentOf), thesaurus);
}

/** The same a few documents at a time, so that nobody else waits. */
export async function prepareIndex(
  documents: readonly SearchDocument[],
  thesaurus: Thesaurus = THESAURUS,
): Promise<SearchIndex> {
  const segments: Segment[] = [];
  for (const [number, part] of runs(documents).entries()) {
    const key = keyOf(part);
    let segment = remembered.get(key);
    if (segment === undefined) {
      const builder = new SegmentBuilder(part[0]);
      for (const [at, document] of part.entries()) {
        builder.add(document);
        if (at % BATCH === BATCH - 1) await setImmediate();
      }
      segment = builder.finish();
    }
    remember(key, segment);
    segments.push(segment);
    if (number % BATCH === BATCH - 1) await setImmediate();
  }
  return assemble(segments, thesaurus);
}

function assemble(parts: readonly Segment[], thesaurus: Thesaurus): SearchIndex {
  const segments: PlacedSegment[] = [];
  const connections = new Map<string, IndexedConnection>();
  let count = 0;
  for (const segment of parts) {
    segments.push({ segment, offset: count });
    count += segment.documents.length;
    const { connection: slug, connectionLabel: label, aliases } = segment.documents[0]!;
    if (!connections.has(slug)) connections.set(slug, { slug, label, aliases });
  }
  const idfOf = (found: number) => Math.log(1 + (count - found + 0.5) / (found + 0.5));
  const known = new Map<string, number | undefined>();
  return {
    // The segments' own objects: what is worked out about a document is remembered with it.
    documents: segments.flatMap(({ segment }) => segment.documents),
    segments,
    connections,
    thesaurus,
    maxIdf: idfOf(1),
    idf(term) {
      if (known.has(term)) return known.get(term);
      let found = 0;
      for (const { segment } of segments) {
        const row = segment.rows.get(term);
        if (row !== undefined) found += segment.starts[row + 1]! - segment.starts[row]!;
      }
      const idf = found === 0 ? undefined : idfOf(found);
      // Words of queries are strangers' input: no more of them are kept than there may be terms.
      if (known.size >= MAX_KNOWN) known.clear();
      known.set(term, idf);
      return idf;
    },
    termsOf(document) {
      const { segment, offset: from } = segments.findLast((placed) => placed.offset <= document)!;
      return segment.termsOf(document - from);
    },
  };
}

/** Neighbours of one connection together; a catalogue is sorted by connection. */
function runs(documents: readonly SearchDocument[]): SearchDocument[][] {
  const parts: SearchDocument[][] = [];
  for (const document of documents) {
    const last = parts.at(-1);
    if (last?.[0]?.connection === document.connection) last.push(document);
    else parts.push([document]);
  }
  return parts;
}

const remembered = new Map<string, Segment>();
let rememberedDocuments = 0;

function segmentOf(documents: readonly SearchDocument[]): Segment {
  const key = keyOf(documents);
  let segment = remembered.get(key);
  if (segment === undefined) {
    const builder = new SegmentBuilder(documents[0]);
    for (const document of documents) builder.add(document);
    segment = builder.finish();
  }
  remember(key, segment);
  return segment;
}

/** Keeps a segment as the one that was used last; the least recently used ones go. */
function remember(key: string, segment: Segment): void {
  if (remembered.delete(key)) rememberedDocuments -= segment.documents.length;
  remembered.set(key, segment);
  rememberedDocuments += segment.documents.length;
  for (const [oldest, { documents }] of remembered) {
    if (rememberedDocuments <= MAX_REMEMBERED || oldest === key) break;
    remembered.delete(oldest);
    rememberedDocuments -= documents.length;
  }
}

/** Everything about the documents that a segment holds; their definitions, action and title with them, by hash. */
function keyOf(documents: readonly SearchDocument[]): string {
  const { connection, connectionLabel, connectionDescription, aliases } = documents[0]!;
  let text = JSON.stringify([connection, connectionLabel, connectionDescription, aliases]);
  for (const { name, access, schemaHash } of documents) text += `${name} ${access} ${schemaHash} `;
  return createHash("sha256").update(text).digest("base64");
}
