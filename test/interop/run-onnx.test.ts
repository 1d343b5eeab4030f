/** Encoders and decoders of runs as ONNX models, and `skein export --format onnx`. */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gnn, noGrad, randn } from 'skein';
import { exportOnnx } from 'skein/interop';
import { encodeAllNodes, exportEncoderOnnx, openRun } from 'skein/train';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { edgeDecoder } from '#internal/gnn/decoders/decoders.js';
import { skein as program, root } from '../programs.js';
import { randomRows, run, scratch, setUp, tinyConfig, writeDataset } from '../train/tiny.js';
import { floats, fromTensor, ids, largestDifference, runOnnx } from './onnx-session.js';

const folder = scratch();
const numNodes = 60;
const rows = randomRows(numNodes, 240, 0);
const random = new Random(9);
const features = {
  width: 6,
  values: Float32Array.from({ length: numNodes * 6 }, () => random.nextFloat() - 0.5),
};
const range = (from: number, to: number): Int32Array =>
  Int32Array.from({ length: to - from }, (_, i) => from + i);
const dataset = writeDataset(folder(), {
  numNodes,
  train: rows,
  features,
  labels: Int32Array.from({ length: numNodes }, (_, i) => i % 3),
  numClasses: 3,
  nodes: { train: range(0, 30), validation: range(30, 40), test: range(40, 60) },
});

/** The edges that messages follow. */
function messages(incoming: boolean, outgoing: boolean): ReturnType<typeof ids> {
  const edges = Array.from({ length: rows.length / 2 }, (_, i) => [rows[2 * i], rows[2 * i + 1]]);
  const all = [...(incoming ? edges : []), ...(outgoing ? edges.map(([src, dst]) => [dst, src]) : [])];
  return ids([...all.map(([src]) => src), ...all.map(([, dst]) => dst)], [2, all.length]);
}

const gnnLayer = (options: object, width: number): object[] => [
  { type: 'GNN', options, output_dim: width, bias: true, activation: 'RELU', bias_init: { type: 'UNIFORM' } },
];
const input = [{ type: 'FEATURE', output_dim: 6 }];
const encoders: Record<string, object[][]> = {
  'GraphSAGE mean': [
    input,
    gnnLayer({ type: 'GRAPH_SAGE', aggregator: 'MEAN' }, 8),
    gnnLayer({ type: 'GRAPH_SAGE', aggregator: 'GCN' }, 3),
  ],
  GCN: [input, gnnLayer({ type: 'GCN' }, 8), gnnLayer({ type: 'GCN' }, 3)],
  GAT: [
    input,
    gnnLayer({ type: 'GAT', num_heads: 2 }, 8),
    gnnLayer({ type: 'GAT', num_heads: 2, average_heads: true }, 3),
  ],
  'two inputs, a reduction and a dense layer': [
    [...input, { type: 'EMBEDDING', output_dim: 5 }],
    [{ type: 'REDUCTION', options: { type: 'LINEAR' }, input_dim: 11, output_dim: 7 }],
    gnnLayer({ type: 'GRAPH_SAGE' }, 8),
    [{ type: 'DENSE', input_dim: 8, output_dim: 3, activation: 'SIGMOID' }],
  ],
};

function config(layers: object[][], more: object = {}): ReturnType<typeof tinyConfig> {
  const all = layers.filter((stage) => stage.some((each) => (each as { type: string }).type === 'GNN'));
  return tinyConfig(dataset, {
    model: {
      learning_task: 'NODE_CLASSIFICATION',
      encoder: { layers, train_neighbor_sampling: all.map(() => ({ type: 'ALL' })), ...more },
      decoder: { type: 'NODE' },
      loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
    },
    storage: { model_dir: folder() },
    evaluation: { negative_sampling: { filtered: false } },
  });
}

describe('an encoder in onnxruntime encodes as the run does', () => {
  for (const [name, layers] of Object.entries(encoders)) {
    it(name, async () => {
      for (const [incoming, outgoing] of [
        [true, true],
        [true, false],
        [false, true],
      ]) {
        const chosen = config(layers, { use_incoming_nbrs: incoming, use_outgoing_nbrs: outgoing });
        const parts = await setUp(chosen, folder());
        await parts.storage.residency.load();
        const want = await encodeAllNodes({ model: parts.model, source: parts.batcher.source });
        const bytes = exportEncoderOnnx(parts.model, chosen.model.encoder);
        const embeddings = (await parts.storage.embeddings?.gather(range(0, numNodes))) ?? null;
        const { y } = await runOnnx(bytes, {
          x: floats(features.values, [numNodes, 6]),
          edge_index: messages(incoming, outgoing),
          ...(embeddings === null
            ? {}
            : { embeddings: floats(embeddings, [numNodes, embeddings.length / numNodes]) }),
        });
        expect(y.dims).toEqual([numNodes, want.width]);
        expect(largestDifference(y.data, want.rows)).toBeLessThan(1e-4);
      }
    });
  }
});

it.each(['L1', 'COSINE', 'L2'])('a decoder that compares by %s', async (comparator) => {
  const decoder = edgeDecoder('TRANSE', { dim: 8, numRelations: 3, method: 'ONLY_POS' });
  const compare = { L1: new gnn.L1Compare(), L2: new gnn.L2Compare(), COSINE: new gnn.CosineCompare() }[
    comparator
  ];
  Object.assign(decoder, { comparator: compare });
  const [src, dst] = [randn([9, 8]), randn([9, 8])];
  const relations = Int32Array.from({ length: 9 }, (_, i) => i % 3);
  const want = noGrad(() => decoder.forward({ src, dst, relations, rows: src }));
  const feeds = { src: fromTensor(src), dst: fromTensor(dst), relation: ids(relations, [9]) };
  const { score } = await runOnnx(exportOnnx(decoder), feeds);
  expect(largestDifference(score.data, want.rhsPos.dataSync() as ArrayLike<number>)).toBeLessThan(1e-4);
});

describe('skein export --format onnx', () => {
  const skein = (
    ...args: string[]
  ): { code: number | null; events: Record<string, unknown>[]; err: string } => {
    const main = [...program, 'export', ...args, '--format', 'onnx', '--json'];
    const done = spawnSync(process.execPath, main, { cwd: root, encoding: 'utf8' });
    const lines = done.stdout.split('\n').filter((line) => line !== '');
    return { code: done.status, events: lines.map((line) => JSON.parse(line)), err: done.stderr };
  };

  it('writes the model of a node classification run, once', async () => {
    const { directory } = await run(config(encoders['GraphSAGE mean']));
    const { code, events, err } = skein(directory);
    expect(code, err).toBe(0);
    const path = join(directory, 'model.onnx');
    expect(events.at(-1)).toEqual({ event: 'done', files: [path] });
    const opened = await openRun(directory, { over: 'graph' });
    const want = await encodeAllNodes(opened);
    await opened.close();
    const { y } = await runOnnx(readFileSync(path), {
      x: floats(features.values, [numNodes, 6]),
      edge_index: messages(true, true),
    });
    expect(largestDifference(y.data, want.rows)).toBeLessThan(1e-4);
    expect(skein(directory).err).toMatch(/expected a new file, got .*model\.onnx/);
    expect(skein(directory, '--overwrite').code).toBe(0);
    expect(skein(directory, '--overwrite', '--what', 'encoded').err).toMatch(/neither --what nor --tables/);
  }, 240_000);

  it('writes the decoder of a link prediction run whose nodes are their embeddings', async () => {
    const train = randomRows(20, 60, 3);
    const links = writeDataset(folder(), { numNodes: 20, numRelations: 3, train, test: train });
    const { directory } = await run(tinyConfig(links, { storage: { model_dir: folder() } }));
    const { code, err } = skein(directory, '--output-dir', join(directory, 'onnx'));
    expect(code, err).toBe(0);
    expect(existsSync(join(directory, 'onnx', 'decoder.onnx'))).toBe(true);
    expect(existsSync(join(directory, 'onnx', 'encoder.onnx'))).toBe(false);
  }, 240_000);
});
