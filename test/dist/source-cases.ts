/**
 * The programs of SAR's guide on data loading that sample, infer on the whole graph and train on one machine, in our words.
 * All ranks run a case together.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Communicator,
  constructFullGraph,
  convertDistGraph,
  currentCommunicator,
  DataLoader,
  DistGraph,
  DistNeighborSampler,
  FileLock,
  gatherGrads,
  PartitionDataManager,
  setCommunicator,
  suffixKeyLookup,
  syncParams,
} from 'skein/dist';
import { SAGEConv } from 'skein/gnn';
import type { MessageGraph } from 'skein/graph';
import { nativeStatus } from 'skein/native';
import { Adam, Module } from 'skein/nn';
import { crossEntropyTotal, gatherRows, manualSeed, noGrad, relu, type Tensor } from 'skein/tensor';
import type { CommCase } from './communicator-contract.js';
import { classes, type Split, splitGraph, width } from './sampling-graph.js';

class GNNModel extends Module {
  readonly convs: readonly SAGEConv[];

  constructor(layers: number) {
    super();
    this.convs = Array.from(
      { length: layers },
      (_, i) => new SAGEConv(i === 0 ? width : 16, i === layers - 1 ? classes : 16),
    );
  }

  /** For batches. */
  forward(blocks: readonly MessageGraph[], features: Tensor): Tensor {
    let h = features;
    for (const [i, conv] of this.convs.entries()) {
      h = conv.forward(blocks[i], h);
      if (i < this.convs.length - 1) h = relu(h);
    }
    return h;
  }

  fullGraphInference(graph: MessageGraph, features: Tensor): Tensor {
    return this.forward(
      this.convs.map(() => graph),
      features,
    );
  }
}

function model(layers: number, comm: Communicator): GNNModel {
  // Different on all workers until they agree.
  manualSeed(comm.rank + 1);
  const made = new GNNModel(layers);
  syncParams(made, { comm });
  return made;
}

const labelsOf = (t: Tensor): Int32Array => t.dataSync<Int32Array>();

/** Sum of own losses over the count of all, then the sum of gradients. */
function step(
  comm: Communicator,
  gnn: GNNModel,
  optimizer: Adam,
  logits: Tensor,
  labels: Int32Array,
): number {
  const count = Float64Array.of(labels.length);
  comm.allReduce(count);
  const loss = crossEntropyTotal(logits, labels, { factor: 1 / Math.max(1, count[0]) });
  optimizer.zeroGrad();
  loss.backward();
  gatherGrads(gnn, { comm });
  optimizer.step();
  const total = Float64Array.of(loss.item());
  comm.allReduce(total);
  return total[0];
}

/** Global ids of this worker's nodes with a mask. */
function masked(split: Split, name: string): Int32Array {
  const mask = suffixKeyLookup(split.pd.nodeFeatures, name).dataSync<Uint8Array>();
  return Int32Array.from(mask.keys())
    .filter((row) => mask[row] !== 0)
    .map((row) => split.first + row);
}

function trainOnSamples(comm: Communicator, split: Split, gnn: GNNModel, epochs: number): number[] {
  const graph = DistGraph.fromPartitionData(split.pd, { comm });
  const sampler = new DistNeighborSampler([5, 5], {
    inputNodeFeatures: { features: split.ownFeatures },
    outputNodeFeatures: { labels: split.ownLabels },
  });
  // A worker without a single seed takes part in everything.
  const idle = comm.size > 2 && comm.rank === 1;
  const seeds = idle ? new Int32Array(0) : masked(split, 'train_mask');
  const loader = new DataLoader(graph, seeds, sampler, { batchSize: 16, shuffle: true });
  const optimizer = new Adam(gnn.parameters(), { lr: 0.02 });
  const losses: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    let total = 0;
    for (const blocks of loader) {
      const logits = gnn.forward(blocks, blocks[0].srcdata.features);
      total += step(comm, gnn, optimizer, logits, labelsOf(blocks[blocks.length - 1].dstdata.labels));
    }
    losses.push(total / loader.length);
  }
  comm.barrier();
  graph.close();
  return losses;
}

const close = (got: ArrayLike<number>, want: ArrayLike<number>) => {
  assert.equal(got.length, want.length);
  for (let i = 0; i < got.length; i++)
    assert.ok(Math.abs(got[i] - want[i]) <= 1e-5 * Math.max(1, Math.abs(want[i])), `${got[i]} ≠ ${want[i]}`);
};

const all: readonly CommCase[] = [
  {
    name: 'Sampling-based training',
    run(comm) {
      setCommunicator(comm);
      const split = splitGraph(comm, { weighted: false });
      const { pd: partitionData, ownFeatures: features, ownLabels: labels } = split;
      const trainNodes = masked(split, 'train_mask');
      const batchSize = 20;
      const gnnModel = model(3, comm);

      const shardManager = constructFullGraph(partitionData);
      const neighborSampler = new DistNeighborSampler([15, 10, 5], {
        inputNodeFeatures: { features },
        outputNodeFeatures: { labels },
      });
      const dataloader = new DataLoader(shardManager, trainNodes, neighborSampler, { batchSize });
      let batches = 0;
      for (const blocks of dataloader) {
        const output = gnnModel.forward(blocks, blocks[0].srcdata.features);
        assert.deepEqual(output.shape, [blocks[2].dstdata.labels.shape[0], classes]);
        batches++;
      }
      assert.equal(batches, dataloader.length);
      comm.barrier();
    },
  },
  {
    name: 'Full-graph inference with SAR after training on samples',
    run(comm) {
      setCommunicator(comm);
      const split = splitGraph(comm, { weighted: false });
      const gnnModel = model(2, comm);
      const losses = trainOnSamples(comm, split, gnnModel, 8);
      assert.ok(losses[7] < 0.6 * losses[0], `losses ${losses}`);

      const g = DistGraph.fromPartitionData(split.pd, { comm });
      const gsm = convertDistGraph(g).to('cpu');
      const modelOut = noGrad(() => gnnModel.fullGraphInference(gsm, split.ownFeatures));

      const whole = noGrad(() => gnnModel.fullGraphInference(split.whole, split.features));
      const all = whole.dataSync<Float32Array>();
      close(modelOut.dataSync<Float32Array>(), all.subarray(split.first * classes, split.end * classes));
      comm.barrier();
      g.close();
    },
  },
  {
    name: 'Single-node training',
    run(comm) {
      const before = currentCommunicator();
      setCommunicator(comm);
      const path = new Uint8Array(200);
      if (comm.rank === 0) new TextEncoder().encodeInto(mkdtempSync(join(tmpdir(), 'skein-single-')), path);
      comm.broadcast(path);
      const folder = new TextDecoder().decode(path.subarray(0, path.indexOf(0)));
      const { rank } = comm;
      const split = splitGraph(comm, { weighted: false });
      // The same without the manager, to compare with.
      const expected = fullGraphLosses(comm, split, (pd) => constructFullGraph(pd));

      const lock = new FileLock(join(folder, 'lock'));
      const partitionDataManager = new PartitionDataManager(rank, lock, {
        folder: join(folder, 'partition_rank_'),
        minBytes: 0,
      });
      partitionDataManager.partitionData = split.pd;
      partitionDataManager.masks = {};
      for (const [maskName, indicesName] of [
        ['train_mask', 'train_indices'],
        ['val_mask', 'val_indices'],
        ['test_mask', 'test_indices'],
      ]) {
        const booleanMask = suffixKeyLookup(partitionDataManager.partitionData.nodeFeatures, maskName);
        const flags = booleanMask.dataSync<Uint8Array>();
        partitionDataManager.masks[indicesName] = Int32Array.from(flags.keys()).filter(
          (row) => flags[row] !== 0,
        );
      }
      partitionDataManager.labels = suffixKeyLookup(
        partitionDataManager.partitionData.nodeFeatures,
        'labels',
      );
      partitionDataManager.features = suffixKeyLookup(
        partitionDataManager.partitionData.nodeFeatures,
        'features',
      );
      const losses = fullGraphLosses(comm, split, (pd) =>
        constructFullGraph(pd, { partitionDataManager, lock }).to('cpu'),
      );
      assert.deepEqual(losses, expected);
      if (comm.size > 1) assert.ok(partitionDataManager.stats.spills > 10);
      assert.equal(partitionDataManager.doesFileExist('tensors'), comm.size > 1);
      partitionDataManager.delete();
      setCommunicator(before);
      comm.barrier();
      if (rank === 0) rmSync(folder, { recursive: true });
      assert.throws(
        () => constructFullGraph(split.pd, { comm, lock }),
        /expected the lock of partitionDataManager for lock/,
      );
    },
  },
];

/** Locks between processes are the addon's. */
export const sourceCases = all.filter(
  ({ name }) => nativeStatus().backend === 'native' || name !== 'Single-node training',
);

/** Losses of a few full-graph epochs; communication goes through whatever is current. */
function fullGraphLosses(
  comm: Communicator,
  split: Split,
  construct: (pd: Split['pd']) => MessageGraph,
): number[] {
  const gnn = model(2, comm);
  const graph = construct(split.pd);
  const optimizer = new Adam(gnn.parameters(), { lr: 0.02 });
  const rows = masked(split, 'train_mask').map((id) => id - split.first);
  const labels = rows.map((row) => split.labels[split.first + row]);
  return [0, 1, 2].map(() => {
    const logits = gnn.fullGraphInference(graph, split.ownFeatures);
    return step(currentCommunicator(), gnn, optimizer, gatherRows(logits, rows), labels);
  });
}
