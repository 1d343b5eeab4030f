/**
 * What the readers of node classification data return: plain arrays, checked, before a graph is built of them.
 */
import type { EdgeArrays } from './edges.js';

/** A sparse matrix by rows: row r holds entries offsets[r] … offsets[r + 1] − 1. */
export interface CsrArrays {
  readonly shape: readonly [number, number];
  readonly offsets: Int32Array;
  readonly indices: Int32Array;
  readonly values: Float32Array;
}

/** A dense matrix in C order. */
export interface DenseArrays {
  readonly shape: readonly [number, number];
  readonly values: Float32Array;
}

/** Node ids of each part, ascending. */
export interface NodeSplits {
  readonly train: Int32Array;
  readonly valid: Int32Array;
  readonly test: Int32Array;
}

export interface NodeData {
  readonly edges: EdgeArrays;
  readonly features: CsrArrays | DenseArrays | null;
  /** A class per node; −1 where the file has none. */
  readonly labels: Int32Array;
  readonly numClasses: number;
  /** null when the data come without a fixed split. */
  readonly splits: NodeSplits | null;
  readonly classNames?: readonly string[];
}
