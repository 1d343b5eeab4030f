/** The kernel `spmm` with named arguments and defaults, and cached ids 0, 1, 2, …. */
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
  /** The index of an entry's weights; null if it is the entry's own index. */
  readonly positions?: Int32Array | null;
  readonly weight?: FloatArray | null;
  readonly columns?: number;
  readonly xScale?: FloatArray | null;
  readonly yScale?: FloatArray | null;
  readonly arg?: Int32Array | null;
  /** Include row r + self of x; null to include none. */
  readonly self?: number | null;
  /** Add to y (sum and mean). */
  readonly accumulate?: boolean;
}

export function spmm(a: SpmmArguments): void {
  const self = a.self ?? null;
  kernels().spmm({
    op: reduceCode[a.reduce ?? 'sum'],
    x: a.x,
    w: a.weight ?? null,
    xScale: a.xScale ?? null,
    yScale: a.yScale ?? null,
    offsets: a.offsets,
    indices: a.indices,
    positions: a.positions ?? null,
    y: a.y,
    arg: a.arg ?? null,
    rows: a.offsets.length - 1,
    xRows: a.xRows,
    width: a.width,
    wCols: a.columns ?? 1,
    hasSelf: self !== null,
    self: self ?? 0,
    accumulate: a.accumulate ?? false,
  });
}

let numbers = new Int32Array(0);

/** Returns an array that begins with 0, 1, …, n − 1; it is cached and must not be changed. */
export function identity(n: number): Int32Array {
  if (numbers.length < n) {
    numbers = new Int32Array(n);
    for (let i = 0; i < n; i++) numbers[i] = i;
  }
  return numbers;
}
