/**
 * Sampled edges per second (SEPS, as Quiver defines it: edges of all adjs / time) on R-MAT graphs of the sizes of
 * Reddit and ogbn-products, on the CPU and on a device:
 *
 *   npx tsx bench/gpu-sampling.ts [--scale 1] [--batches 50] [--batch 1024] [--only reddit|products] [--engine cpu|gpu] [--json]
 *
 * `--scale 0.01` takes a hundredth of nodes and edges. A layer's adj holds the edges of all hops up to it, as a layer
 * uses them; `edges` counts each sampled edge once. A software adapter (SwiftShader) runs on the CPU: its figures only
 * show that it works.
 */
import { parseArgs } from 'node:util';
import { rmat } from 'skein/data';
import { GPUSampler, openGpuDevice } from 'skein/gpu';
import type { Graph } from 'skein/graph';
import { type Batch, NeighborSampler } from 'skein/sample';
import { Random } from 'skein/util';

const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '1' },
    batches: { type: 'string', default: '50' },
    batch: { type: 'string', default: '1024' },
    only: { type: 'string', default: '' },
    engine: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});
const scale = Number(values.scale);
const batchSize = Number(values.batch);
const numBatches = Number(values.batches);

const inputs = [
  { name: 'reddit', nodes: 232_965, edges: 114_615_892, sizes: [25, 10] },
  { name: 'products', nodes: 2_449_029, edges: 123_718_280, sizes: [15, 10, 5] },
].filter(({ name }) => name.includes(values.only));

interface Result {
  readonly edges: number;
  readonly adjEdges: number;
  readonly nodes: number;
  readonly seconds: number;
}

/** Samples all batches after one to warm up. */
async function measure(
  batches: readonly Int32Array[],
  sample: (seeds: Int32Array, step: number) => Promise<Batch>,
): Promise<Result> {
  await sample(batches[0], 0);
  let edges = 0;
  let adjEdges = 0;
  let nodes = 0;
  const start = performance.now();
  // Two in flight, so that an engine has the next batch while the last is read.
  const ahead: Promise<Batch>[] = [];
  for (let step = 0; step < batches.length; step++) {
    for (let next = step + ahead.length; ahead.length < 2 && next < batches.length; next++)
      ahead.push(sample(batches[next], next));
    const batch = await (ahead.shift() as Promise<Batch>);
    edges += batch.numEdges;
    nodes += batch.numNodes;
    let layer = 0;
    for (const count of batch.edgesPerHop) {
      layer += count;
      adjEdges += layer;
    }
  }
  return { edges, adjEdges, nodes, seconds: (performance.now() - start) / 1000 };
}

function report(input: string, engine: string, adapter: string, result: Result): void {
  const { edges, adjEdges, nodes, seconds } = result;
  const line = {
    ...{ input, scale, engine, adapter, batchSize, batches: numBatches },
    seps: Math.round(adjEdges / seconds),
    edgesPerSecond: Math.round(edges / seconds),
    msPerBatch: +((1000 * seconds) / numBatches).toFixed(2),
    nodesPerBatch: Math.round(nodes / numBatches),
  };
  const { seps, edgesPerSecond, msPerBatch, nodesPerBatch } = line;
  if (values.json) console.log(JSON.stringify(line));
  else
    console.log(
      `${input.padEnd(9)} ${engine} ${(seps / 1e6).toFixed(2).padStart(8)} M SEPS  ${(edgesPerSecond / 1e6).toFixed(2).padStart(8)} M edges/s  ` +
        `${msPerBatch} ms per batch of ${nodesPerBatch} nodes  (${adapter})`,
    );
}

async function onDevice(name: string, graph: Graph, sizes: number[], batches: Int32Array[]): Promise<void> {
  const gpu = await openGpuDevice();
  const sampler = new GPUSampler(gpu, graph, { sizes, seed: 1 });
  try {
    const result = await measure(batches, (seeds, step) => sampler.sampleAsync(seeds, { step }));
    report(
      name,
      'gpu',
      `${gpu.info.description || gpu.info.vendor}${gpu.isSoftware ? ', software' : ''}`,
      result,
    );
  } finally {
    sampler.release();
    gpu.destroy();
  }
}

for (const { name, nodes, edges, sizes } of inputs) {
  const numNodes = Math.max(1, Math.round(nodes * scale));
  const graph = rmat(numNodes, { numEdges: Math.round(edges * scale), shuffle: true, seed: 7 });
  const random = new Random(3);
  const batches = Array.from({ length: numBatches }, () =>
    Int32Array.from({ length: batchSize }, () => random.nextInt(numNodes)),
  );
  if (values.engine !== 'gpu') {
    const sampler = new NeighborSampler(graph, { fanouts: sizes, seed: 1 });
    report(
      name,
      'cpu',
      'native kernels',
      await measure(batches, (seeds, step) => sampler.sampleAsync(seeds, { step })),
    );
  }
  if (values.engine !== 'cpu') await onDevice(name, graph, sizes, batches);
}
