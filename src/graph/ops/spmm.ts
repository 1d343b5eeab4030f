/** The kernel `spmm` with names and defaults for its many arguments, and the numbers 0, 1, 2, … as ids. */
import { type FloatArray, kernels, type Offsets, reduceCode } from '../../native/index.js';
import type { ReduceName } from '../fn.js';

export interface SpmmArguments {
  readonly reduce?: ReduceName;
  readonly x: FloatArray;
  readonly xRows: number;
  readonly y: FloatArray;
  readonly width: number;
  /** Entries offsets[r] … offsets[r+1]−1 of `indices` name the rows of x that row r of y takes. */
  readonly offsets: Offsets;
  readonly indices: Int32Array;
  /** Where the weights of an entry are; null: at the entry's own place. */
  readonly slots?: Int32Array | null;
  readonly weight?: FloatArray | null;
  readonly columns?: number;
  readonly xScale?: FloatArray | null;
  readonly yScale?: FloatArray | null;
  readonly arg?: Int32Array | null;
  /** Row r + self of x counts as well; null: no. */
  readonly self?: number | null;
  /** Add to y (sum and mean). */
  readonly accumulate?: boolean;
}

export function spmm(a: SpmmArguments): void {
  const self = a.self ?? null;
  kernels().spmm(
    reduceCode[a.reduce ?? 'sum'],
    a.x,
    a.weight ?? null,
    a.xScale ?? null,
    a.yScale ?? null,
    a.offsets,
    a.indices,
    a.slots ?? null,
    a.y,
    a.arg ?? null,
    a.offsets.length - 1,
    a.xRows,
    a.width,
    a.columns ?? 1,
    self !== null,
    self ?? 0,
    a.accumulate ?? false,
  );
}

let numbers = new Int32Array(0);

/** At least n of 0, 1, 2, …: kept and grown, never changed. */
export function identity(n: number): Int32Array {
  if (numbers.length < n) {
    numbers = new Int32Array(n);
    for (let i = 0; i < n; i++) numbers[i] = i;
  }
  return numbers;
}
