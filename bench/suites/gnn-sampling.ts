/**
 * Sampling alone, and training on sampled blocks: with the loader, and its two halves separately on one thread. The
 * peer trains on the blocks that our sampler drew, passed as files.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Block, type Graph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { type LoadedBatch, NeighborSampler, NodeLoader } from 'skein/sample';
import { scope, type Tensor } from 'skein/tensor';
import { figures, floats, integers } from '../inputs.js';
import type { Case, Check } from '../suite.js';
import { rmat } from './gnn-graphs.js';
import { startSage } from './start.js';

const nodes = 1_000_000;
const edges = 20_000_000;
const batchSize = 1024;
const batches = 8;
const fanouts = [15, 10, 5];
const sizes = [100, 256, 256, 47];

const bigGraph = (): Graph => rmat(nodes, edges, 3);
/** Nodes with edges, as training nodes have. */
const seedNodes = (graph: Graph): Int32Array =>
  integers(5, 2 * batches * batchSize, nodes)
    .filter((v) => graph.inDegrees()[v] > 0)
    .slice(0, batches * batchSize);

function batchSeeds(seeds: Int32Array): Int32Array[] {
  return Array.from({ length: batches }, (_, i) => seeds.subarray(i * batchSize, (i + 1) * batchSize));
}

/** Edges that one pass over the batches draws; the sampler is deterministic, so this is a constant. */
const drawnEdges = 1_541_949;

function sampling(name: string, threads: number): Case {
  return {
    name,
    peer: null,
    threads,
    // Per drawn edge: its source's id, and its index in the table of local ids twice.
    bytes: 3 * drawnEdges * 4,
    items: { count: drawnEdges, unit: 'edges' },
    limit: 'copy',
    ours() {
      const graph = bigGraph();
      const sampler = new NeighborSampler(graph, { fanouts, seed: 1 });
      const seeds = batchSeeds(seedNodes(graph));
      let drawn: number[] = [];
      return {
        async run() {
          const each = (ids: Int32Array, step: number) =>
            threads === 1 ? sampler.sample(ids, { step }) : sampler.sampleAsync(ids, { step });
          const all = await Promise.all(seeds.map(each));
          drawn = all.map((batch) => batch.numEdges);
        },
        check(): Check[] {
          const total = drawn.reduce((sum, n) => sum + n, 0);
          if (Math.abs(total - drawnEdges) > 0.01 * drawnEdges)
            throw new Error(`the count of drawn edges is out of date: ${total}`);
          return figures('edges', drawn);
        },
      };
    },
  };
}

class Training {
  readonly model = startSage(sizes);
  readonly optimizer = new Adam(this.model.parameters(), { lr: 1e-3 });

  step(blocks: readonly Block[], x: Tensor, labels: Int32Array): number {
    return scope(() => {
      this.optimizer.zeroGrad();
      const loss = crossEntropy(this.model.forward(blocks, x), labels);
      loss.backward();
      this.optimizer.step();
      return loss.item();
    });
  }
}

function makeLoader(prefetch: number, reuse = true): NodeLoader {
  const graph = bigGraph();
  const sampler = new NeighborSampler(graph, { fanouts, seed: 1 });
  const features = floats(1, [nodes, sizes[0]]);
  const labels = integers(2, nodes, sizes[3]);
  const seeds = seedNodes(graph);
  return new NodeLoader(sampler, { seeds, features, labels, batchSize, shuffle: false, prefetch, reuse });
}

/** Writes the blocks of one epoch as raw files: node ids, offsets, source rows, and the sizes of each layer. */
async function shareBlocks(folder: string): Promise<void> {
  const sizesOfAll: unknown[] = [];
  const loader = makeLoader(0);
  for await (const { batch, step } of loader.epoch(0)) {
    const [outer] = batch.blocks;
    writeFileSync(join(folder, `nodes${step}`), batch.nodeIds);
    writeFileSync(join(folder, `offsets${step}`), outer.adjacency.offsets);
    writeFileSync(join(folder, `indices${step}`), outer.adjacency.indices);
    sizesOfAll.push(batch.blocks.map((b) => [b.numSrcNodes, b.numDstNodes, b.numEdges]));
  }
  writeFileSync(join(folder, 'sizes.json'), JSON.stringify(sizesOfAll));
}

/** Products of one epoch, for the destinations of each layer (and the sources of the last); constants. */
const flops = (() => {
  const [first, second, third] = sizes.slice(1).map((out, i) => 2 * sizes[i] * out);
  const rows = { first: 273_423, second: 52_732, third: 8_184 };
  // Two maps forward, two weight gradients, and input gradients except the first; the last layer maps its sources
  // first.
  return 4 * rows.first * first + 6 * rows.second * second + 3 * (rows.second + rows.third) * third;
})();

const trainingCase: Case = {
  name: 'sage_sampled_epoch',
  peer: 'sage_sampled_epoch',
  flops,
  limit: 'gemm',
  tolerance: 2e-3,
  long: true,
  share: shareBlocks,
  ours() {
    const loader = makeLoader(2);
    const training = new Training();
    let loss = Number.NaN;
    return {
      async run() {
        for await (const { blocks, x, labels } of loader.epoch(0))
          loss = training.step(blocks, x, labels as Int32Array);
      },
      check: () => figures('loss', [loss]),
    };
  },
};

const loadingOnly: Case = {
  name: 'sage_sampled_loading_1_thread',
  peer: null,
  // Rows read and written.
  bytes: 2 * 592_466 * sizes[0] * 4,
  limit: 'rows',
  threads: 1,
  long: true,
  ours() {
    const loader = makeLoader(0);
    let rows = 0;
    return {
      async run() {
        rows = 0;
        for await (const { nodeIds } of loader.epoch(0)) rows += nodeIds.length;
      },
      check: () => figures('rows', [rows]),
    };
  },
};

function fresh(blocks: readonly Block[]): Block[] {
  return blocks.map(({ adjacency: { offsets, indices, numSrc } }) =>
    Block.trusted(offsets, indices, numSrc, {}),
  );
}

const computeOnly = (threads: number): Case => ({
  name: `sage_sampled_compute_${threads}_thread${threads === 1 ? '' : 's'}`,
  peer: null,
  flops,
  limit: 'gemm',
  threads,
  long: true,
  ours() {
    const training = new Training();
    const loader = makeLoader(0, false);
    let loaded: LoadedBatch[] | null = null;
    let loss = Number.NaN;
    return {
      async run() {
        if (loaded === null) {
          loaded = [];
          for await (const batch of loader.epoch(0)) loaded.push(batch);
        }
        for (const { batch, x, labels } of loaded) {
          // New blocks, as from the loader: nothing may be cached from the last run.
          loss = training.step(fresh(batch.blocks), x, labels as Int32Array);
        }
      },
      check: () => figures('loss', [loss]),
    };
  },
});

export const samplingCases: readonly Case[] = [
  sampling('sample_1m_20m_1_thread', 1),
  sampling('sample_1m_20m_2_threads', 2),
  trainingCase,
  loadingOnly,
  computeOnly(1),
  computeOnly(2),
];
