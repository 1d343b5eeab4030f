/**
 * `npx tsx bench/encoder-batches.ts [--json]`: the time per batch of link prediction with a GNN encoder, on graphs of
 * the same nodes and increasing numbers of edges. Neighbours are sampled, so the time should not depend on the number
 * of edges.
 *
 * Options: --nodes (100000), --edges (1000000,20000000), --batches (60).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PreparedDataset } from 'skein/data';
import { initializeModel } from 'skein/marius';
import { fit, GraphTask, initializeStorage, resolveConfig } from 'skein/train';
import { Random } from 'skein/util';
import { prepareGraph } from '#internal/data/prepare/prepare-graph.js';
import { initializeBatches } from '#internal/train/tasks/graph/initialize-model.js';
import { median } from './statistics.js';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '100000' },
    edges: { type: 'string', default: '1000000,20000000' },
    batches: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
  },
});
const nodes = Number(values.nodes);
const batches = Number(values.batches);

/** Returns edges with uniform random ends: every node has about the same degree, at least the fan-out. */
function randomEdges(count: number): { src: Int32Array; dst: Int32Array } {
  const random = new Random(count);
  const draw = () => Int32Array.from({ length: count }, () => random.nextInt(nodes));
  return { src: draw(), dst: draw() };
}

async function measure(edges: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'skein-encoder-'));
  const data = join(folder, 'data');
  await prepareGraph([randomEdges(edges)], { outputDir: data, numNodes: nodes });
  const { config } = resolveConfig({
    model: {
      learning_task: 'LINK_PREDICTION',
      random_seed: 1,
      encoder: {
        // Fewer than the edges per node in the smallest graph, so that all graphs draw the same number.
        train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 5 } }],
        layers: [
          [{ type: 'EMBEDDING', output_dim: 64 }],
          [{ type: 'GNN', options: { type: 'GRAPH_SAGE' }, input_dim: 64, output_dim: 64 }],
        ],
      },
      decoder: { type: 'DOT' },
      loss: { type: 'SOFTMAX_CE' },
    },
    storage: { dataset: { dataset_dir: data } },
    training: {
      batch_size: 1000,
      num_epochs: 1,
      negative_sampling: { num_chunks: 10, negatives_per_positive: 100 },
    },
  });
  const dataset = await PreparedDataset.open(data);
  const { storage, table } = await initializeStorage(config, dataset, {
    tableDirectory: join(folder, 'table'),
  });
  const model = initializeModel(config, { numRelations: 0, numClasses: 0 });
  const task = new GraphTask({ model, source: initializeBatches(config, storage), table });
  const times: number[] = [];
  let last = performance.now();
  await fit(task, {
    epochs: 1,
    onStep: () => {
      times.push(performance.now() - last);
      last = performance.now();
    },
    request: () => (times.length < batches ? 'continue' : 'stop'),
  });
  await task.close();
  rmSync(folder, { recursive: true, force: true });
  // The first batches include JIT compilation.
  return median(times.slice(Math.floor(batches / 4)));
}

for (const text of values.edges.split(',')) {
  const edges = Number(text);
  const ms = await measure(edges);
  if (values.json) console.log(JSON.stringify({ bench: 'encoder_batch', nodes, edges, ms }));
  else console.log(`${edges.toLocaleString('en')} edges: ${ms.toFixed(1)} ms per batch`);
}
