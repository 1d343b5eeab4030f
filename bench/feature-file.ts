/**
 * `npx tsx bench/feature-file.ts [--json]`: the memory of a sampled run whose features stay in their file. Writes a
 * dataset with a feature table of several GB, trains an epoch of GraphSAGE on it with `storage.features.type:
 * FLAT_FILE`, and reports the peak of resident memory.
 *
 * Options: --nodes (2000000), --width (512), --edges (4000000), --trained (20000), --folder, --keep.
 */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rmatEdges } from '#internal/data/rmat.js';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '2000000' },
    width: { type: 'string', default: '512' },
    edges: { type: 'string', default: '4000000' },
    trained: { type: 'string', default: '20000' },
    folder: { type: 'string' },
    keep: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const [nodes, width, edges, trained] = [values.nodes, values.width, values.edges, values.trained].map(Number);
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'skein-features-'));
const classes = 10;

/** Writes a directory in the layout of Marius's preprocessing; features are written in chunks. */
function writeDataset(path: string): void {
  mkdirSync(join(path, 'edges'), { recursive: true });
  mkdirSync(join(path, 'nodes'), { recursive: true });
  const { src, dst } = rmatEdges(nodes, { numEdges: edges, seed: 1 });
  const rows = new Int32Array(2 * edges);
  for (let e = 0; e < edges; e++) {
    rows[2 * e] = src[e];
    rows[2 * e + 1] = dst[e];
  }
  const put = (name: string, data: Int32Array): void =>
    writeFileSync(join(path, name), new Uint8Array(data.buffer));
  put('edges/train_edges.bin', rows);
  put(
    'nodes/labels.bin',
    Int32Array.from({ length: nodes }, (_, i) => i % classes),
  );
  const every = Math.floor(nodes / trained);
  put(
    'nodes/train_nodes.bin',
    Int32Array.from({ length: trained }, (_, i) => i * every),
  );
  put(
    'nodes/validation_nodes.bin',
    Int32Array.from({ length: 1000 }, (_, i) => i * every + 1),
  );
  put(
    'nodes/test_nodes.bin',
    Int32Array.from({ length: 1000 }, (_, i) => i * every + 2),
  );
  const file = openSync(join(path, 'nodes/features.bin'), 'w');
  const piece = 2 ** 12;
  for (let first = 0; first < nodes; first += piece) {
    const count = Math.min(piece, nodes - first);
    const part = Float32Array.from({ length: count * width }, (_, i) => ((i * 7 + first) % 13) / 13 - 0.5);
    writeSync(file, new Uint8Array(part.buffer));
  }
  closeSync(file);
  const stats = {
    ...{ dataset_dir: path, num_edges: edges, num_nodes: nodes, num_relations: 1, num_train: trained },
    ...{ num_valid: 1000, num_test: 1000, node_feature_dim: width, num_classes: classes },
  };
  const lines = Object.entries(stats).map(([key, value]) => `${key}: ${value}\n`);
  writeFileSync(join(path, 'dataset.yaml'), lines.join(''));
}

const data = join(folder, 'data');
if (!existsSync(join(data, 'dataset.yaml'))) writeDataset(data);
writeFileSync(
  join(folder, 'config.yaml'),
  `model:
  learning_task: NODE_CLASSIFICATION
  random_seed: 1
  encoder:
    train_neighbor_sampling: [{ type: UNIFORM, options: { max_neighbors: 10 } }]
    layers:
      - [{ type: FEATURE, output_dim: ${width} }]
      - [{ type: GNN, options: { type: GRAPH_SAGE }, input_dim: ${width}, output_dim: ${classes} }]
  decoder: { type: NODE }
  loss: { type: CROSS_ENTROPY }
  dense_optimizer: { type: ADAM, options: { learning_rate: 0.01 } }
storage:
  dataset: { dataset_dir: ${data} }
  features: { type: FLAT_FILE }
training: { batch_size: 500, num_epochs: 1 }
evaluation: { batch_size: 500 }
`,
);
const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const run = join(folder, 'run');
const args = [cli, 'train', join(folder, 'config.yaml'), '--json', `--storage.model_dir=${run}`];
const { status, stdout, stderr } = spawnSync(process.execPath, args, {
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
});
if (status !== 0) throw new Error(stderr);
const done = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as { peak_rss_mb: number; seconds: number };
rmSync(run, { recursive: true, force: true });
const tableMb = (nodes * width * 4) / 2 ** 20;
if (values.json) console.log(JSON.stringify({ bench: 'feature_file', table_mb: tableMb, ...done }));
else
  console.log(
    `features of ${tableMb.toFixed(0)} MB in their file: peak of ${done.peak_rss_mb} MB, ${done.seconds.toFixed(1)} s`,
  );
if (!values.keep) rmSync(folder, { recursive: true, force: true });
