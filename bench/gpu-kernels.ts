/**
 * GPU kernels: `npx tsx bench/gpu-kernels.ts [--scale 1] [--rounds 5]`.
 *
 * Products in GFLOP/s, aggregation over a random graph and rows by id in GB/s of minimum traffic. A launch is timed
 * with the wait for it, over a batch of repetitions, best of the rounds. A software adapter computes on the CPU: its
 * figures do not apply to a GPU, and sizes are reduced there.
 */
import { parseArgs } from 'node:util';
import { enableWebGpu, openGpuDevice } from 'skein/gpu';
import type { TypedArray } from 'skein/native';
import { Random } from 'skein/util';
import { reduceCode } from '#internal/native/index.js';

const { values } = parseArgs({
  options: { scale: { type: 'string' }, rounds: { type: 'string', default: '5' } },
});
const gpu = await openGpuDevice();
const device = await enableWebGpu(gpu);
const { kernels } = device;
const random = new Random(1);
const scale = Number(values.scale ?? (gpu.isSoftware ? 1 / 32 : 1));
const scaled = (n: number): number => Math.max(1, Math.round(n * scale));

type Kept = Float32Array;

/** Allocates device memory, typed as a kernel argument. */
function floats(n: number): Kept {
  const array = device.allocate('f32', n);
  device.upload(
    array,
    Float32Array.from({ length: n }, () => random.nextFloat()),
  );
  return array as unknown as Kept;
}

async function best(run: () => void, repetitions: number): Promise<number> {
  run();
  await gpu.finish();
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < Number(values.rounds); round++) {
    const start = performance.now();
    for (let i = 0; i < repetitions; i++) run();
    await gpu.finish();
    least = Math.min(least, (performance.now() - start) / repetitions);
  }
  return least;
}

function report(name: string, ms: number, amount: number, unit: string): void {
  console.log(
    `${name.padEnd(44)} ${ms.toFixed(3).padStart(10)} ms ${(amount / ms / 1e6).toFixed(2).padStart(10)} ${unit}`,
  );
}

async function product(
  name: string,
  m: number,
  n: number,
  k: number,
  transA: boolean,
  transB: boolean,
): Promise<void> {
  const [a, b, c] = [floats(m * k), floats(k * n), floats(m * n)];
  const ms = await best(
    () => kernels.gemm({ a, b, bias: null, c, m, n, k, transA, transB, accumulate: false }),
    gpu.isSoftware ? 1 : 20,
  );
  report(`gemm ${name} ${m}×${n}×${k}`, ms, 2 * m * n * k, 'GFLOP/s');
  for (const array of [a, b, c]) (array as unknown as { release(): void }).release();
}

async function aggregation(rows: number, degree: number, width: number): Promise<void> {
  const edges = rows * degree;
  const offsets = Int32Array.from({ length: rows + 1 }, (_, r) => r * degree);
  const indices = Int32Array.from({ length: edges }, () => random.nextInt(rows));
  const [x, y] = [floats(rows * width), floats(rows * width)];
  const run = (): void =>
    kernels.spmm({
      op: reduceCode.sum,
      x,
      w: null,
      xScale: null,
      yScale: null,
      offsets,
      indices,
      positions: null,
      y,
      arg: null,
      rows,
      xRows: rows,
      width,
      wCols: 1,
      hasSelf: false,
      self: 0,
      accumulate: false,
    });
  const ms = await best(run, gpu.isSoftware ? 1 : 20);
  report(
    `spmm sum ${rows} rows × ${degree} × ${width}`,
    ms,
    4 * (edges * (width + 1) + rows * width),
    'GB/s',
  );
}

async function gathering(rows: number, count: number, width: number): Promise<void> {
  const ids: TypedArray = Int32Array.from({ length: count }, () => random.nextInt(rows));
  const [x, y] = [floats(rows * width), floats(count * width)];
  const held = device.allocate('i32', count);
  device.upload(held, ids);
  const run = (): void => kernels.gatherRows(x, held as unknown as Int32Array, y, count, 4 * width);
  report(
    `gather ${count} of ${rows} rows × ${width}`,
    await best(run, gpu.isSoftware ? 1 : 20),
    8 * count * width,
    'GB/s',
  );
}

console.log(`${gpu.info.vendor} ${gpu.info.architecture} ${gpu.info.description}`.trim());
if (gpu.isSoftware) console.log('This is a software adapter: the figures are those of a CPU.');
const side = Math.round(2048 * Math.cbrt(scale));
await product('square', side, side, side, false, false);
await product('layer', scaled(200_000), 64, 128, false, true);
await product('classes', scaled(200_000), 16, 128, false, true);
await product('weight gradient', 64, 128, scaled(200_000), true, false);
await aggregation(scaled(200_000), 16, 64);
await gathering(scaled(500_000), scaled(200_000), 128);
device.release();
gpu.destroy();
