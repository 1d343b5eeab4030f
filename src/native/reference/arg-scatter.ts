/** Twin of native/kernels/arg_scatter.cpp. */
import type { FloatArray } from '../types.js';

export function argScatter(
  gy: FloatArray,
  index: Int32Array,
  gx: FloatArray,
  outer: number,
  mid: number,
  inner: number,
): void {
  gx.fill(0, 0, outer * mid * inner);
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++) {
      const from = o * inner + i;
      gx[(o * mid + index[from]) * inner + i] = gy[from];
    }
  }
}
