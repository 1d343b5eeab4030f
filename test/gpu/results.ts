/** A small run of sampling, features and a model, on a device or without one, as plain numbers. */
import { GCN } from 'skein/gnn';
import { CGPUFeature, enableWebGpu, type GpuDevice, openSampler } from 'skein/gpu';
import { fromTypedArray, manualSeed, noGrad, type Tensor } from 'skein/tensor';
import { skewedGraph } from '../sample/graphs.js';

export interface RunResults {
  readonly engine: string;
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly rows: readonly number[];
  readonly scores: readonly number[];
}

const [numNodes, width] = [120, 5];

/** @param gpu null runs Skein's fallbacks */
export async function results(gpu: GpuDevice | null): Promise<RunResults> {
  const graph = skewedGraph(numNodes, 900);
  const table = Float32Array.from({ length: numNodes * width }, (_, i) => Math.sin(i));
  const sampler = await openSampler(graph, {
    ...{ sizes: [4, 3], seed: 5, onFallback: () => {} },
    ...(gpu === null ? {} : { gpu }),
  });
  const { allNode, adjs } = await sampler.sample([3, 50, 117], { step: 2 });
  const feature = await new CGPUFeature(graph, gpu, '1K').fromCpuTensor({
    data: table,
    shape: [numNodes, width],
  });
  const block = await feature.get(allNode);
  const rows = [...(await block.toHost())].map(Number);
  block.release();
  const { engine } = sampler;
  sampler.release();
  feature.release();
  const scores = await scoresOf(gpu, table, graph);
  return { engine, nodes: [...allNode], edges: adjs.flatMap(({ eId }) => [...eId]), rows, scores };
}

/** Returns a model's scores, computed on the device or on the CPU. */
async function scoresOf(gpu: GpuDevice | null, table: Float32Array, graph: ReturnType<typeof skewedGraph>) {
  const tensors = gpu === null ? null : await enableWebGpu(gpu);
  const device = gpu === null ? 'cpu' : 'webgpu';
  manualSeed(4);
  const model = new GCN([width, 6, 3]).to(device);
  const x = fromTypedArray(table, [numNodes, width]).to(device);
  const out = noGrad((): Tensor => model.forward(graph, x));
  const scores = [...(await out.data())].map(Number);
  tensors?.release();
  return scores;
}
