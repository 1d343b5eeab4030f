/** Marius's document, classes of batches and samplers: each member and function as declared there, our form, and a call. */
import {
  Batch,
  type EdgeSampler,
  FlatFile,
  GNNGraph,
  GraphBatcher,
  GraphModelStorage,
  InMemory,
  initializeModel,
  initializeStorage,
  kHopNeighborSampler,
  NegativeSampler,
  type NeighborSampler,
  type NodeSampler,
  PartitionBufferStorage,
  PipelineTrainer,
  parseConfig,
  RandomEdgeSampler,
  RandomNodeSampler,
  SynchronousEvaluator,
} from 'skein/marius';
import { fromTypedArray, ones, type Tensor } from 'skein/tensor';
import { describe, expect, test } from 'vitest';
import { scratch } from '../train/tiny.js';
import { type Line, lines, marius, nextBatch, validationBatch } from './marius-fixture.js';

const folder = scratch();
const { storage, links, neighbors, negatives, batcher, nodeBatcher } = marius(folder());
const values = (t: Tensor | null | undefined): number[] => [...(t?.dataSync() ?? [])] as number[];

/** Edge 4 → 9 of relation 1 with one negative source and two negative destinations; rows of ones. */
function smallBatch(): Batch {
  // Batch(bool train)
  const batch = new Batch(true);
  batch.src = Int32Array.of(4);
  batch.dst = Int32Array.of(9);
  batch.relations = Int32Array.of(1);
  batch.srcNegatives = { ids: Int32Array.of(2), chunks: 1 };
  batch.dstNegatives = { ids: Int32Array.of(2, 4), chunks: 1 };
  batch.localSample();
  batch.setEmbeddings(new Float32Array(6).fill(1), 2);
  return batch;
}

const table: readonly Line[] = [
  // Class: GraphBatcher
  ['GraphModelStorage graph_storage_', 'batcher.graphStorage', () => batcher.graphStorage === storage, true],
  [
    'NeighborSampler neighbor_sampler_',
    'batcher.neighborSampler',
    () => batcher.neighborSampler === neighbors,
    true,
  ],
  [
    'void setTrainSet() / setValidationSet() / setTestSet()',
    'batcher.setTrainSet()',
    () => {
      const sizes: number[] = [];
      for (const set of ['setValidationSet', 'setTestSet', 'setTrainSet'] as const) {
        batcher[set]();
        sizes.push(batcher.getNumEdges());
      }
      return sizes;
    },
    [5, 5, 40],
  ],
  [
    'void loadStorage(); bool hasNextBatch()',
    'await batcher.loadStorage(); batcher.hasNextBatch()',
    async () => {
      expect(() => batcher.hasNextBatch()).toThrow(/Call load\(\)/);
      await batcher.loadStorage();
      return batcher.hasNextBatch();
    },
    true,
  ],
  [
    'Batch *getBatch()',
    'await batcher.getBatch()',
    async () => {
      const batch = await nextBatch(batcher);
      const ids = batch.uniqueNodeIndices as Int32Array;
      return [batch instanceof Batch, batch.src?.length, batch.uniqueNodeEmbeddings?.shape[0] === ids.length];
    },
    [true, 10, true],
  ],
  [
    'void loadGPUParameters(Batch *batch, bool encoded=false)',
    'await batcher.loadGPUParameters(batch, encoded)',
    async () => {
      const batch = await validationBatch(batcher);
      const before = values(batch.uniqueNodeEmbeddings);
      await batcher.loadGPUParameters(batch);
      const again = values(batch.uniqueNodeEmbeddings);
      await expect(batcher.loadGPUParameters(batch, true)).rejects.toThrow(/encodeFullGraph/);
      await links.encoder.encodeFullGraph(neighbors, storage);
      await batcher.loadGPUParameters(batch, true);
      return [again.join() === before.join(), values(batch.uniqueNodeEmbeddings).join() !== before.join()];
    },
    [true, true],
  ],
  [
    'void updateEmbeddingsForBatch(Batch *batch, bool gpu)',
    'await batcher.updateEmbeddingsForBatch(batch, gpu)',
    async () => {
      const batch = await nextBatch(batcher);
      const ids = batch.uniqueNodeIndices as Int32Array;
      const before = await storage.embeddings?.gather(ids);
      batch.uniqueNodeGradients = new Float32Array(ids.length * 4).fill(1);
      await batcher.updateEmbeddingsForBatch(batch, true);
      expect(await storage.embeddings?.gather(ids)).toEqual(before);
      await batcher.updateEmbeddingsForBatch(batch, false);
      return (await storage.embeddings?.gather(ids))?.map((x, i) => x - (before?.[i] ?? 0))[3];
    },
    expect.closeTo(-0.1, 5),
  ],
  ['void finishedBatch()', 'batcher.finishedBatch()', () => batcher.finishedBatch(), undefined],
  [
    'void nextEpoch()',
    'await batcher.nextEpoch()',
    async () => {
      batcher.setTrainSet();
      const { epoch } = batcher.position;
      await batcher.nextEpoch();
      return [batcher.position.epoch - epoch, batcher.hasNextBatch()];
    },
    [1, true],
  ],
  [
    'void unloadStorage(bool write = false)',
    'await batcher.unloadStorage(write)',
    () => batcher.unloadStorage(true),
    undefined,
  ],
  ['int64_t getNumEdges()', 'batcher.getNumEdges()', () => batcher.getNumEdges(), 40],
  // Class: Batch
  ['void localSample()', 'batch.localSample()', () => [...(smallBatch().uniqueNodeIndices ?? [])], [4, 9, 2]],
  [
    'void embeddingsToDevice(int device_id)',
    'batch.embeddingsToDevice(deviceId)',
    () => {
      const batch = smallBatch();
      batch.embeddingsToDevice(-1);
      return [batch.deviceId, batch.status];
    },
    [-1, 'TransferredToDevice'],
  ],
  [
    'void prepareBatch()',
    'batch.prepareBatch(relations)',
    () => {
      const batch = smallBatch();
      batch.prepareBatch(ones([3, 2]));
      const { srcPosEmbeddings: a, dstPosEmbeddings: b, relationEmbeddings: r } = batch;
      return [a, b, r, batch.srcNegEmbeddings, batch.dstNegEmbeddings].map((rows) => rows?.shape);
    },
    [
      [1, 2],
      [1, 2],
      [1, 2],
      [1, 1, 2],
      [1, 2, 2],
    ],
  ],
  [
    'void accumulateGradients(); void embeddingsToHost()',
    'batch.accumulateGradients(learningRate); await batch.embeddingsToHost()',
    async () => {
      const batch = smallBatch();
      batch.accumulateGradients(0.1);
      await batch.embeddingsToHost();
      return [batch.uniqueNodeGradients?.length, batch.uniqueNodeUpdates?.length, batch.status];
    },
    [6, 6, 'TransferredToHost'],
  ],
  [
    'void clear()',
    'batch.clear()',
    () => {
      const batch = smallBatch();
      batch.clear();
      return [batch.src, batch.uniqueNodeEmbeddings, batch.status];
    },
    [null, null, 'Done'],
  ],
  // Class: EdgeSampler; node samplers of the overview
  [
    'virtual EdgeList getEdges(Batch *batch)',
    'sampler.getEdges(batch)',
    async () => {
      const sampler: EdgeSampler = new RandomEdgeSampler(storage);
      return [sampler.graphStorage === storage, sampler.getEdges(await nextBatch(batcher)).src.length];
    },
    [true, 10],
  ],
  [
    'four types of samplers: edge, node, negative, and neighborhood samplers',
    'NodeSampler.getNodes(batch)',
    async () => {
      const sampler: NodeSampler = new RandomNodeSampler(storage);
      return sampler.getNodes(await nextBatch(nodeBatcher)).length;
    },
    3,
  ],
  // Class: NegativeSampler
  [
    'virtual torch::Tensor getNegatives(Batch *batch, bool src)',
    'sampler.getNegatives(batch, src)',
    async () => {
      const sampler: NegativeSampler = negatives;
      return [
        sampler.graphStorage === storage,
        negatives.getNegatives(await nextBatch(batcher), true).ids.length,
      ];
    },
    [true, 5],
  ],
  // Class: NeighborSampler
  [
    'GraphModelStorage* graph_storage_; NeighborSamplingStrategy neighbor_sampling_strategy_; int max_neighbors_size_',
    'sampler.graphStorage, neighborSamplingStrategy, maxNeighborsSize',
    () => [
      neighbors.graphStorage === storage,
      neighbors.neighborSamplingStrategy,
      neighbors.maxNeighborsSize,
    ],
    [true, 'ALL', -1],
  ],
  [
    'virtual GNNGraph getNeighbors(torch::Tensor node_ids, bool incoming, bool outgoing)',
    'sampler.getNeighbors(nodeIds, incoming, outgoing)',
    async () => {
      await nextBatch(batcher);
      const sampler: NeighborSampler = new kHopNeighborSampler(storage, 1, 'UNIFORM', 3);
      const graph = sampler.getNeighbors(Int32Array.of(1, 2), true, false);
      return [graph instanceof GNNGraph, [...graph.nodeIds], graph.numNodesInMemory];
    },
    [true, [0, 19, 1, 2], 20],
  ],
  // GraphModelStorage
  [
    'GraphModelStorage',
    'GraphModelStorage',
    () => [
      storage instanceof GraphModelStorage,
      ...[storage.numNodes, storage.numRelations, storage.getNumEdges('train'), storage.embeddings?.width],
    ],
    [true, 20, 2, 40, 4],
  ],
];

test.each(lines(table))('$document is $ours', async ({ call, wanted }) => {
  expect(await call()).toEqual(wanted);
});

describe('negative edges: a [num_negs, 3] shaped tensor', () => {
  /** Two edges per edge of the batch: its source to the two nodes behind its destination, by its relation. */
  class NegativeEdges extends NegativeSampler {
    static calls = 0;
    override getNegatives({ src, dst, relations }: Batch, _src: boolean): Tensor {
      NegativeEdges.calls++;
      const edges = [...(src ?? [])].flatMap((s, i) =>
        [1, 2].flatMap((k) => [s, relations?.[i] ?? 0, ((dst?.[i] ?? 0) + k) % 20]),
      );
      return fromTypedArray(Int32Array.from(edges), [edges.length / 3, 3]);
    }
  }
  const edges = new RandomEdgeSampler(storage);
  const withNegatives = (sampler: NegativeSampler) =>
    new GraphBatcher(storage, edges, sampler, neighbors, null, { batchSize: 10 });

  test('are scored as edges of their own, with one draw per batch', async () => {
    const batch = await nextBatch(withNegatives(new NegativeEdges(storage)));
    expect(NegativeEdges.calls).toBe(1);
    expect([batch.srcNegatives, batch.negativeEdges?.src.length]).toEqual([null, 20]);
    expect(() => links.forward(batch, true)).toThrow(
      /method POS_AND_NEG for negative edges, got CORRUPT_NODE/,
    );
    const { method } = links.decoder;
    links.decoder.method = 'POS_AND_NEG';
    const [rhsPos, rhsNeg, , lhsNeg] = links.forward(batch, true);
    expect([rhsPos.shape, rhsNeg?.shape, lhsNeg?.shape]).toEqual([[10], [10, 2], [10, 2]]);
    // The first negative edge of edge 3, scored as a positive edge.
    const asEdge = new Batch(true);
    Object.assign(asEdge, batch, {
      src: batch.negativeEdges?.src.slice(6, 7),
      dst: batch.negativeEdges?.dst.slice(6, 7),
      relations: batch.negativeEdges?.relations?.slice(6, 7),
      srcRows: batch.negativeEdgeRows?.src.slice(6, 7),
      dstRows: batch.negativeEdgeRows?.dst.slice(6, 7),
      negativeEdges: null,
      negativeEdgeRows: null,
    });
    links.decoder.method = 'ONLY_POS';
    const [score] = links.forward(asEdge, true);
    expect(score.item()).toBeCloseTo(values(rhsNeg)[6], 5);
    links.decoder.method = 'POS_AND_NEG';
    expect(await links.train(batch)).toBeGreaterThan(0);
    links.decoder.method = method;
  });

  test('must be a multiple of the edges of the batch, of two or three columns', async () => {
    class Seven extends NegativeSampler {
      override getNegatives(): Tensor {
        return fromTypedArray(new Int32Array(21), [7, 3]);
      }
    }
    await expect(nextBatch(withNegatives(new Seven(storage)))).rejects.toThrow(
      "expected a multiple of the batch's 10 edges for negative edges, got 7",
    );
    class Wide extends NegativeSampler {
      override getNegatives(): Tensor {
        return fromTypedArray(new Int32Array(40), [10, 4]);
      }
    }
    await expect(nextBatch(withNegatives(new Wide(storage)))).rejects.toThrow('[n], [n, 2] or [n, 3]');
  });
});

test('rows, trainers and evaluators reject what they cannot use', async () => {
  const batch = new Batch(true);
  expect(() => batch.setEmbeddings('x' as never)).toThrow(
    'Batch.setEmbeddings: expected a tensor or a Float32Array for rows, got "x"',
  );
  expect(() => batch.setFeatures(new Float32Array(5), 2)).toThrow('expected rows of 2 numbers');
  expect(batch.status).toBe('Waiting');
  expect(() => new SynchronousEvaluator({} as never, {} as never)).toThrow(
    'SynchronousEvaluator: expected a GraphBatcher for graphBatcher',
  );
  expect(() => new PipelineTrainer(undefined as never, {} as never)).toThrow('PipelineTrainer: expected a');
  expect(() => new GraphModelStorage(undefined as never)).toThrow('for numNodes, got undefined');
  expect(() => new GraphModelStorage({ numNodes: 3 } as never)).toThrow('expected the edges of each split');
  expect(() => new FlatFile('rows.bin', undefined as never)).toThrow('FileStore: expected a whole number');
  expect(() => new InMemory(new Float32Array(2), {} as never)).toThrow(
    'MemoryStore: expected a whole number',
  );
  expect(() => new PartitionBufferStorage(null as never, 2)).toThrow('expected a TableFiles for files');
  expect(() => initializeModel({} as never, {} as never)).toThrow('Load it with loadConfig');
  await expect(initializeStorage({} as never, {} as never, {} as never)).rejects.toThrow('a configuration');
  expect(() => parseConfig(undefined as never)).toThrow('expected the path of a file for path');
});
