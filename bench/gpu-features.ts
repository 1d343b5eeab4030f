/**
 * Feature rows per second (as Quiver defines it: nodes of a batch · width · 4 bytes / time) for sampled batches on
 * R-MAT graphs of the sizes of Reddit and ogbn-products, through `CGPUFeature` with none, a fifth and all of the rows
 * on the device, and on the host:
 *
 *   npx tsx bench/gpu-features.ts [--scale 1] [--batches 30] [--batch 1024] [--only reddit|products] [--json]
 *
 * `--scale 0.01` takes a hundredth of nodes and edges. Two requests are in flight. A software adapter (SwiftShader)
 * runs on the CPU: its figures only show that it works.
 */
import { parseArgs } from 'node:util';
import { rmat } from 'skein/data';
import { CGPUFeature, type GpuDevice, openGpuDevice } from 'skein/gpu';
import { NeighborSampler } from 'skein/sample';
import { Random } from 'skein/util';
import type { FeatureBlock } from '#internal/gpu/feature/feature-block.js';

const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '1' },
    batches: { type: 'string', default: '30' },
    batch: { type: 'string', default: '1024' },
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});
const scale = Number(values.scale);
const batchSize = Number(values.batch);
const numBatches = Number(values.batches);

const inputs = [
  { name: 'reddit', nodes: 232_965, edges: 114_615_892, width: 602, fanouts: [25, 10] },
  { name: 'products', nodes: 2_449_029, edges: 123_718_280, width: 100, fanouts: [15, 10, 5] },
].filter(({ name }) => name.includes(values.only));

/** Requests all batches, after one to warm up, and waits until the device is done. */
async function measure(feature: CGPUFeature, batches: readonly Int32Array[]): Promise<number> {
  (await feature.get(batches[0])).release();
  const start = performance.now();
  let last: Promise<FeatureBlock> | null = null;
  for (const ids of batches) {
    const next: Promise<FeatureBlock> = feature.get(ids);
    if (last !== null) (await last).release();
    last = next;
  }
  (await (last as Promise<FeatureBlock>)).release();
  await feature.device?.finish();
  return (performance.now() - start) / 1000;
}

function report(
  input: string,
  where: string,
  share: number,
  seconds: number,
  bytes: number,
  hitRate: number,
): void {
  const line = {
    ...{ input, scale, where, share, batchSize, batches: numBatches },
    gbPerSecond: +(bytes / seconds / 1e9).toFixed(3),
    msPerBatch: +((1000 * seconds) / numBatches).toFixed(2),
    hitRate: +hitRate.toFixed(4),
  };
  if (values.json) console.log(JSON.stringify(line));
  else
    console.log(
      `${input.padEnd(9)} ${`${100 * share} % on the ${where}`.padEnd(44)} ${line.gbPerSecond.toFixed(3).padStart(8)} GB/s  ` +
        `${line.msPerBatch} ms per batch, ${(100 * hitRate).toFixed(1)} % found there`,
    );
}

async function run(gpu: GpuDevice | null, input: (typeof inputs)[number]): Promise<void> {
  const { name, nodes, edges, width, fanouts } = input;
  const numNodes = Math.max(1, Math.round(nodes * scale));
  const graph = rmat(numNodes, { numEdges: Math.round(edges * scale), shuffle: true, seed: 7 });
  const random = new Random(3);
  const sampler = new NeighborSampler(graph, { fanouts, seed: 1 });
  const batches = Array.from({ length: numBatches }, (_, step) => {
    const seeds = Int32Array.from({ length: batchSize }, () => random.nextInt(numNodes));
    return sampler.sample(seeds, { step }).nodeIds;
  });
  const bytes = batches.reduce((sum, ids) => sum + ids.length * width * 4, 0);
  const x = { data: new Float32Array(numNodes * width).fill(1), shape: [numNodes, width] as const };
  const adapter = `${gpu?.info.description ?? 'device'}${gpu?.isSoftware ? ', software' : ''}`;
  for (const [device, share] of [
    [null, 0],
    ...(gpu === null ? [] : [0, 0.2, 1].map((s) => [gpu, s] as const)),
  ] as const) {
    const size = Math.ceil(share * numNodes) * width * 4;
    const feature = new CGPUFeature(graph, device, size, { fanouts, batchSize });
    await feature.fromCpuTensor(x);
    const seconds = await measure(feature, batches);
    report(name, device === null ? 'host' : adapter, share, seconds, bytes, 1 - feature.stats.missRate);
    feature.release();
  }
}

const gpu = await openGpuDevice().catch((error: Error) => {
  console.error(error.message);
  return null;
});
for (const input of inputs) await run(gpu, input);
gpu?.destroy();
