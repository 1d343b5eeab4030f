/**
 * What a graph is before it is prepared: edges in the order of the input with ids in order of first appearance, names,
 * and tables of nodes. Arrays in memory and files are two sources of it; write-prepared.ts takes either.
 */
import type { NodeTypes } from '../formats/node-types.js';
import type { NodeSplits } from '../node-data.js';

/** Some consecutive edges; arrays may be longer than `count` and are used again for the next block. */
export interface EdgeBlock {
  readonly count: number;
  readonly src: Int32Array;
  readonly rel: Int32Array | null;
  readonly dst: Int32Array;
  readonly weight: Float32Array | null;
}

/** Rows of node features; `nodes[i]` has values i · width … (i + 1) · width − 1. */
export interface FeatureBlock {
  readonly nodes: Int32Array;
  readonly values: Float32Array;
}

/** What is known of nodes, by their number in order of first appearance. */
export interface NodeTables {
  readonly features: { readonly width: number; blocks(): AsyncIterable<FeatureBlock> } | null;
  /** A class per node, −1 for none. */
  readonly labels: Int32Array | null;
  readonly numClasses: number;
  /** Names of the classes where the input has other than numbers. */
  readonly classNames: readonly string[] | null;
  readonly splits: NodeSplits | null;
}

export interface GraphSource {
  readonly numNodes: number;
  /** 0 when edges are of one kind and have no relation column. */
  readonly numRelations: number;
  readonly hasWeights: boolean;
  /** Edges of each part: one part, or training and test, or training, validation and test. */
  readonly parts: readonly number[];
  /** All edges, the parts one after another. */
  blocks(): AsyncIterable<EdgeBlock>;
  /** Names in order of number; null when the numbers are the names. */
  nodeNames(): AsyncIterable<readonly string[]> | null;
  relationNames(): AsyncIterable<readonly string[]> | null;
  readonly nodes: NodeTables | null;
  /** Types that the names start with, where sources and destinations have ids of their own. */
  readonly nodeTypes?: NodeTypes;
  /** Other files of the directory, by path, in pieces: they are written as they are. */
  readonly sideFiles?: Readonly<Record<string, Iterable<string>>>;
}

/** How far the work is. */
export interface PrepareProgress {
  readonly stage: 'read' | 'number' | 'edges' | 'sort' | 'names' | 'features' | 'checksums';
  readonly done: number;
  /** 0 when not known. */
  readonly total: number;
}

export type OnPrepareProgress = (progress: PrepareProgress) => void;

/** Is told, in a line for people, what was decided about the input: headers, types of nodes, columns left out. */
export type OnNote = (note: string) => void;

/** One kind of part of edge arrays in memory. */
export interface ArrayPart {
  readonly src: Int32Array;
  readonly rel?: Int32Array;
  readonly dst: Int32Array;
}

/** A source of arrays in memory. `names` null: node i is called i. */
export function arraySource(options: {
  readonly numNodes: number;
  readonly parts: readonly ArrayPart[];
  readonly nodeNames: readonly string[] | null;
  readonly relationNames: readonly string[] | null;
  readonly nodes?: NodeTables | null;
  readonly sideFiles?: GraphSource['sideFiles'];
}): GraphSource {
  const { numNodes, parts, nodeNames, relationNames, nodes = null, sideFiles = {} } = options;
  return {
    sideFiles,
    numNodes,
    numRelations: relationNames?.length ?? 0,
    hasWeights: false,
    parts: parts.map((part) => part.src.length),
    nodes,
    async *blocks() {
      for (const { src, rel, dst } of parts) {
        for (let i = 0; i < src.length; i += 65536) {
          const end = Math.min(src.length, i + 65536);
          const cut = (array: Int32Array): Int32Array => array.subarray(i, end);
          yield { count: end - i, src: cut(src), rel: rel ? cut(rel) : null, dst: cut(dst), weight: null };
        }
      }
    },
    nodeNames: () => (nodeNames === null ? countedNames(numNodes) : namesInBlocks(nodeNames)),
    relationNames: () => (relationNames === null ? null : namesInBlocks(relationNames)),
  };
}

async function* namesInBlocks(names: readonly string[]): AsyncGenerator<readonly string[]> {
  yield names;
}

async function* countedNames(count: number): AsyncGenerator<readonly string[]> {
  for (let i = 0; i < count; i += 65536)
    yield Array.from({ length: Math.min(65536, count - i) }, (_, k) => String(i + k));
}
