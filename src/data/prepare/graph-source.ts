/**
 * A graph before it is prepared: edges in the order of the input with ids in order of first appearance, names, and node
 * tables. Arrays in memory and files are the two sources; write-prepared.ts takes either.
 */
import type { NodeTypes } from '../formats/node-types.js';
import type { NodeSplits } from '../node-data.js';
import type { NodeText } from './node-text.js';

/** Some consecutive edges; arrays may be longer than `count` and are reused for the next block. */
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

/** Data of nodes, by their number in order of first appearance. */
export interface NodeTables {
  readonly features: { readonly width: number; blocks(): AsyncIterable<FeatureBlock> } | null;
  /** Class of each node; −1 for none. */
  readonly labels: Int32Array | null;
  readonly numClasses: number;
  /** Names of the classes unless they are numbers. */
  readonly classNames: readonly string[] | null;
  readonly splits: NodeSplits | null;
  /** The words of text columns; absent without any. */
  readonly text?: NodeText | null;
}

export interface GraphSource {
  readonly numNodes: number;
  /** 0 if edges have no relation column. */
  readonly numRelations: number;
  readonly hasWeights: boolean;
  /** Edges of each split: one, or training and test, or training, validation and test. */
  readonly splitSizes: readonly number[];
  /** Yields all edges, one split after another. */
  blocks(): AsyncIterable<EdgeBlock>;
  /** Names in order of number; null if the numbers are the names. */
  nodeNames(): AsyncIterable<readonly string[]> | null;
  relationNames(): AsyncIterable<readonly string[]> | null;
  readonly nodes: NodeTables | null;
  /** Types that prefix the names, if sources and destinations have separate ids. */
  readonly nodeTypes?: NodeTypes;
  /** Other files of the directory, by path, as chunks of text. */
  readonly sideFiles?: Readonly<Record<string, Iterable<string>>>;
}

/** Progress of preprocessing. */
export interface PrepareProgress {
  readonly stage: 'read' | 'number' | 'edges' | 'sort' | 'names' | 'features' | 'checksums';
  readonly done: number;
  /** 0 if unknown. */
  readonly total: number;
}

export type OnPrepareProgress = (progress: PrepareProgress) => void;

/** Receives notes for the user about decisions on the input: headers, node types, unused columns. */
export type OnNote = (note: string) => void;

/** Edge arrays of one split in memory. */
export interface ArraySplit {
  readonly src: Int32Array;
  readonly rel?: Int32Array;
  readonly dst: Int32Array;
}

/** Returns a source of arrays in memory. If `nodeNames` is null, the name of node i is i. */
export function arraySource(options: {
  readonly numNodes: number;
  readonly splits: readonly ArraySplit[];
  readonly nodeNames: readonly string[] | null;
  readonly relationNames: readonly string[] | null;
  readonly nodes?: NodeTables | null;
  readonly sideFiles?: GraphSource['sideFiles'];
}): GraphSource {
  const { numNodes, splits, nodeNames, relationNames, nodes = null, sideFiles = {} } = options;
  return {
    sideFiles,
    numNodes,
    numRelations: relationNames?.length ?? 0,
    hasWeights: false,
    splitSizes: splits.map((split) => split.src.length),
    nodes,
    async *blocks() {
      for (const { src, rel, dst } of splits) {
        for (let i = 0; i < src.length; i += 65536) {
          const end = Math.min(src.length, i + 65536);
          const slice = (array: Int32Array): Int32Array => array.subarray(i, end);
          const block = { src: slice(src), rel: rel ? slice(rel) : null, dst: slice(dst), weight: null };
          yield { count: end - i, ...block };
        }
      }
    },
    nodeNames: () => (nodeNames === null ? numberNames(numNodes) : namesInBlocks(nodeNames)),
    relationNames: () => (relationNames === null ? null : namesInBlocks(relationNames)),
  };
}

async function* namesInBlocks(names: readonly string[]): AsyncGenerator<readonly string[]> {
  yield names;
}

async function* numberNames(count: number): AsyncGenerator<readonly string[]> {
  for (let i = 0; i < count; i += 65536)
    yield Array.from({ length: Math.min(65536, count - i) }, (_, k) => String(i + k));
}
