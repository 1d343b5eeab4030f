/**
 * The results of the readers of node classification data: plain, checked arrays.
 */
import type { EdgeArrays } from './edges.js';

/** A sparse matrix by rows: row r has entries offsets[r] … offsets[r + 1] − 1. */
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

/** Node ids of each split, ascending. */
export interface NodeSplits {
  readonly train: Int32Array;
  readonly valid: Int32Array;
  readonly test: Int32Array;
}

export interface NodeData {
  readonly edges: EdgeArrays;
  readonly features: CsrArrays | DenseArrays | null;
  /** Class of each node; −1 if the file has none. */
  readonly labels: Int32Array;
  readonly numClasses: number;
  /** null if the data have no fixed split. */
  readonly splits: NodeSplits | null;
  readonly classNames?: readonly string[];
}
