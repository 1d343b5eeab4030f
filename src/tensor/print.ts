/**
 * Formats tensors like NumPy: aligned columns, four decimals, long axes shortened to three items at each end.
 */
import type { Tensor } from './tensor.js';

const edge = 3;
const shorten = 1000;

export function formatTensor(t: Tensor): string {
  const grad = t.requiresGrad ? ', requiresGrad' : '';
  const head = `Tensor([${t.shape.join(', ')}], ${t.dtype}${grad})`;
  if (t.dtype === 'f16' || t.dtype === 'bf16') return head;
  const data = t.dataSync();
  if (t.rank === 0) return `${head} ${formatNumber(data[0], t.dtype)}`;
  if (t.size === 0) return `${head} []`;
  const shown = t.size > shorten ? edge : Infinity;
  const strides: number[] = [];
  let step = 1;
  for (let axis = t.rank - 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= t.shape[axis];
  }
  const cells: string[] = [];
  collect(0, 0, (offset) => cells.push(formatNumber(data[offset], t.dtype)));
  const width = cells.reduce((widest, cell) => Math.max(widest, cell.length), 0);
  let next = 0;
  return `${head}\n${write(0, '')}`;

  function positions(axis: number): (number | null)[] {
    const n = t.shape[axis];
    if (n <= 2 * shown) return Array.from({ length: n }, (_, i) => i);
    return [...Array(edge).keys(), null, ...Array.from({ length: edge }, (_, i) => n - edge + i)];
  }
  function collect(axis: number, offset: number, visit: (offset: number) => void): void {
    if (axis === t.rank) visit(offset);
    else
      for (const i of positions(axis)) if (i !== null) collect(axis + 1, offset + i * strides[axis], visit);
  }
  function write(axis: number, indent: string): string {
    if (axis === t.rank) return cells[next++].padStart(width);
    const parts = positions(axis).map((i) => (i === null ? '…' : write(axis + 1, `${indent} `)));
    const between = axis === t.rank - 1 ? ', ' : `,\n${indent} `;
    return `[${parts.join(between)}]`;
  }
}

function formatNumber(value: number, dtype: string): string {
  if (dtype === 'i32' || dtype === 'u8' || !Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(4);
  return value.toFixed(4);
}
