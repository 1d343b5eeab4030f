/**
 * Calls back once per innermost row of a walk over two strided arrays (the `Dims` of `kernels.ts`).
 */

/** Receives the offsets of both arrays at the row's start, the row's length and the steps along it. */
export type RowVisitor = (
  first: number,
  second: number,
  length: number,
  firstStep: number,
  secondStep: number,
) => void;

export function forEachRow(dims: Int32Array, visit: RowVisitor): void {
  const rank = dims[0];
  const shape = dims.subarray(1, 1 + rank);
  const firstStrides = dims.subarray(1 + rank, 1 + 2 * rank);
  const secondStrides = dims.subarray(1 + 2 * rank, 1 + 3 * rank);
  if (shape.includes(0)) return;
  if (rank === 0) {
    visit(0, 0, 1, 0, 0);
    return;
  }
  const last = rank - 1;
  const index = new Int32Array(rank);
  let first = 0;
  let second = 0;
  for (;;) {
    visit(first, second, shape[last], firstStrides[last], secondStrides[last]);
    let d = last - 1;
    for (; d >= 0; d--) {
      first += firstStrides[d];
      second += secondStrides[d];
      if (++index[d] < shape[d]) break;
      first -= shape[d] * firstStrides[d];
      second -= shape[d] * secondStrides[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}
