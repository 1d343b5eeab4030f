/** Datasets of every kind as graphs to partition: their edges and fields. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PreparedDataset, preprocess } from 'skein/data';
import { partitionData } from 'skein/dist';
import { Graph } from 'skein/graph';
import { fromTypedArray, Tensor } from 'skein/tensor';
import { afterAll, expect, it } from 'vitest';
import type { Dataset } from '#internal/data/dataset.js';
import { partitionSource, preparedSource } from '#internal/dist/partition/partition-source.js';
import type { FeatureRows } from '#internal/dist/partition/partitioned-graph.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-source-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const values = (rows: FeatureRows | undefined): number[] => Array.from((rows as Tensor).dataSync());
const src = Int32Array.of(0, 1, 2);
const dst = Int32Array.of(1, 2, 0);
const rel = Int32Array.of(1, 0, 1);

it('classified nodes bring features, labels and masks', () => {
  const dataset: Dataset = {
    kind: 'nodes',
    name: 'small',
    graph: Graph.fromEdges(src, dst, { numNodes: 3 }),
    features: fromTypedArray(Float32Array.of(1, 2, 3), [3, 1]),
    labels: Int32Array.of(0, -1, 1),
    numClasses: 2,
    splits: { train: Int32Array.of(2), valid: Int32Array.of(0), test: Int32Array.of(1) },
  };
  const { nodeFeatures, edgeFeatures, name } = partitionSource(dataset);
  expect(Object.keys(nodeFeatures)).toEqual(['features', 'labels', 'train_mask', 'val_mask', 'test_mask']);
  expect(values(nodeFeatures['train_mask'])).toEqual([0, 0, 1]);
  expect(values(nodeFeatures['labels'])).toEqual([0, -1, 1]);
  expect({ edgeFeatures, name }).toEqual({ edgeFeatures: {}, name: 'small' });
  expect(Object.keys(partitionSource({ ...dataset, splits: null }).nodeFeatures)).toEqual([
    'features',
    'labels',
  ]);
});

it('facts bring those of training, with their relations', () => {
  const part = { src, rel, dst };
  const none = { src: new Int32Array(0), rel: new Int32Array(0), dst: new Int32Array(0) };
  const { graph, edgeFeatures } = partitionSource({
    kind: 'facts',
    name: 'facts',
    entities: ['a', 'b', 'c'],
    relations: ['r', 's'],
    train: part,
    valid: part,
    test: none,
  });
  expect(graph.numEdges).toBe(3);
  expect(values(edgeFeatures['relation'])).toEqual([1, 0, 1]);
});

it('events bring their times and features', () => {
  const { edgeFeatures, graph, nodeFeatures } = partitionSource({
    kind: 'events',
    name: 'events',
    numNodes: 3,
    src,
    dst,
    time: Float64Array.of(1, 2, 5),
    type: null,
    typeNames: null,
    names: null,
    nodes: null as never,
    numSources: null,
    features: Float32Array.of(1, 2, 3, 4, 5, 6),
    featureWidth: 2,
    labels: null,
  });
  const split = partitionData(graph, Int32Array.of(0, 1, 1), { nodeFeatures, edgeFeatures });
  const [shard] = split.forWorker(0).allShardEdges.filter((one) => one.src.length > 0);
  expect(values(shard.edgeFeatures['_N:_E:_N/time'])).toEqual([5]);
  expect(values(shard.edgeFeatures['_N:_E:_N/features'])).toEqual([5, 6]);
});

it('a prepared dataset brings weights, features, labels and masks', async () => {
  const file = (name: string, lines: readonly string[]): string => {
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
    return join(folder, name);
  };
  await preprocess({
    outputDir: join(folder, 'prepared'),
    edges: [file('edges.csv', ['0,1,0.5', '1,2,2', '2,3,1', '3,0,1'])],
    edgeWeight: 2,
    noRemapIds: true,
    numNodes: 4,
    nodeFeatures: file('features.csv', ['0,1,2', '1,3,4', '2,5,6', '3,7,8']),
    nodeLabels: file('labels.csv', ['0,0', '1,1', '2,0', '3,1']),
    trainNodes: file('train.txt', ['1', '3']),
    validNodes: file('valid.txt', ['0']),
    testNodes: file('test.txt', ['2']),
  });
  const dataset = await PreparedDataset.open(join(folder, 'prepared'));
  const { graph, nodeFeatures, edgeFeatures } = await preparedSource('p', dataset);
  expect(Array.from(graph.edgeWeight ?? [])).toEqual([0.5, 2, 1, 1]);
  expect(values(nodeFeatures['features'])).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(values(nodeFeatures['train_mask'])).toEqual([0, 1, 0, 1]);
  expect(values(nodeFeatures['val_mask'])).toEqual([1, 0, 0, 0]);
  expect(values(nodeFeatures['test_mask'])).toEqual([0, 0, 1, 0]);
  expect(nodeFeatures['labels']).toBeInstanceOf(Tensor);
  expect(edgeFeatures).toEqual({});
});
