/** The programs of SAR's page "Data loading and graph construction" as cases that all workers run together (see the test). */
import assert from 'node:assert/strict';
import {
  constructFullGraph,
  constructMfgs,
  convertDistGraph,
  DataLoader,
  DistGraph,
  DistNeighborSampler,
  DistributedBlock,
  gatherGrads,
  setCommunicator,
  suffixKeyLookup,
  syncParams,
} from 'skein/dist';
import type { Graph } from 'skein/graph';
import { Adam } from 'skein/nn';
import { crossEntropyTotal, gatherRows, manualSeed, noGrad, type Tensor } from 'skein/tensor';
import type { CommCase } from '../dist/communicator-contract.js';
import { assertRows, GNNModel, type Loaded, load, range, width } from './sar-data.js';

/** Global ids of this worker's nodes with a mask. */
function masked({ partitionData, first }: Loaded, name: string): Int32Array {
  const mask = suffixKeyLookup(partitionData.nodeFeatures, name).dataSync<Uint8Array>();
  return Int32Array.from(mask.keys())
    .filter((row) => mask[row] !== 0)
    .map((row) => first + row);
}

const featuresOf = ({ partitionData }: Loaded): Tensor =>
  suffixKeyLookup(partitionData.nodeFeatures, 'features');

/** The features of the input nodes of message-flow graphs. */
const inputsOf = (loaded: Loaded, { inputNodes }: { inputNodes: Int32Array }): Tensor =>
  gatherRows(
    featuresOf(loaded),
    inputNodes.map((id) => id - loaded.first),
  );

const idsOf = (ids: Int32Array | null): Int32Array => ids ?? new Int32Array(0);

const sourcesOf = ({ adjacency: { offsets, indices } }: Graph, node: number): Int32Array =>
  indices.subarray(offsets[node], offsets[node + 1]);

const wholeResult = (model: GNNModel, { whole, allFeatures }: Loaded): Tensor =>
  noGrad(() => model.fullGraphInference(whole, allFeatures));

export const quickStartCases: readonly CommCase[] = [
  {
    name: 'load_dgl_partition_data yields a PartitionData object',
    async run(comm) {
      const loaded = await load(comm);
      const { partitionData, allFeatures, first, end, whole } = loaded;
      assert.equal(partitionData.nodeRanges.length, comm.size);
      assert.equal(partitionData.allShardEdges.length, comm.size);
      assertRows(featuresOf(loaded), allFeatures, range(first, end));
      const edges = Int32Array.of(partitionData.allShardEdges.reduce((sum, s) => sum + s.src.length, 0));
      comm.allReduce(edges);
      assert.equal(edges[0], whole.numEdges);
    },
  },
  {
    name: 'Constructing the full graph for sequential aggregation and rematerialization',
    async run(comm) {
      setCommunicator(comm);
      const loaded = await load(comm);
      const { partitionData, first, end } = loaded;
      const shardManager = constructFullGraph(partitionData); // shard_manager = sar.construct_full_graph(partition_data)

      // "encapsulates N DGL graph objects (where N is the number of workers)"
      assert.deepEqual(
        shardManager.shards.map(({ owner }) => owner),
        Array.from({ length: comm.size }, (_, q) => q),
      );
      // "can usually be passed to GNN layers"
      const model = new GNNModel(2);
      const got = noGrad(() => model.fullGraphInference(shardManager, featuresOf(loaded)));
      assertRows(got, wholeResult(model, loaded), range(first, end));
    },
  },
  {
    name: 'Constructing Message Flow Graphs (MFGs)',
    async run(comm) {
      setCommunicator(comm);
      const loaded = await load(comm);
      const { partitionData } = loaded;
      const labeled = masked(loaded, 'train_mask');
      const K = 3; //                                               K = 3 # number of layers
      const gnnModel = new GNNModel(K); //                          gnn_model = GNNModel(K)
      const trainBlocks = constructMfgs(partitionData, labeled, K); // train_blocks = sar.construct_mfgs(partition_data, …, K)
      const localNodeFeatures = inputsOf(loaded, trainBlocks[0]);
      // model_out = gnn_model(train_blocks, local_node_features)
      const modelOut = noGrad(() => gnnModel.forward(trainBlocks, localNodeFeatures));

      assert.equal(trainBlocks.length, K);
      assertRows(modelOut, wholeResult(gnnModel, loaded), labeled);
      // "update only a subset of nodes in each layer"
      const rows = trainBlocks.map(({ numDstNodes }) => numDstNodes);
      assert.ok(rows[0] >= rows[1] && rows[1] > rows[2] && rows[2] === labeled.length, `${rows}`);
    },
  },
  {
    name: 'One-shot aggregation on the full graph',
    async run(comm) {
      setCommunicator(comm);
      const loaded = await load(comm);
      const { partitionData, first, end } = loaded;
      const shardManager = constructFullGraph(partitionData); //         shard_manager = sar.construct_full_graph(partition_data)
      const oneShotGraph = shardManager.getFullPartitionGraph(); //      one_shot_graph = shard_manager.get_full_partition_graph()
      assert.throws(() => shardManager.shards, /after getFullPartitionGraph\(\)/); // del shard_manager

      assert.ok(oneShotGraph instanceof DistributedBlock);
      const model = new GNNModel(2);
      const got = noGrad(() => model.fullGraphInference(oneShotGraph, featuresOf(loaded)));
      assertRows(got, wholeResult(model, loaded), range(first, end));
    },
  },
  {
    name: 'One-shot aggregation on MFGs',
    async run(comm) {
      setCommunicator(comm);
      const loaded = await load(comm);
      const labeled = masked(loaded, 'train_mask');
      const nLayers = 2;
      const trainBlocks = constructMfgs(loaded.partitionData, labeled, nLayers); // train_blocks = sar.construct_mfgs(…, n_layers)
      // one_shot_blocks = [block.get_full_partition_graph() for block in train_blocks]
      const oneShotBlocks = trainBlocks.map((block) => block.getFullPartitionGraph());

      const model = new GNNModel(nLayers);
      const got = noGrad(() => model.forward(oneShotBlocks, inputsOf(loaded, oneShotBlocks[0])));
      assertRows(got, wholeResult(model, loaded), labeled);
    },
  },
  {
    name: 'Sampling-based training',
    async run(comm) {
      setCommunicator(comm);
      const loaded = await load(comm);
      const { partitionData, whole, allFeatures } = loaded;
      const features = featuresOf(loaded);
      const labels = suffixKeyLookup(partitionData.nodeFeatures, 'labels');
      const trainNodes = masked(loaded, 'train_mask');
      const batchSize = 8;
      const gnnModel = new GNNModel(3);
      syncParams(gnnModel, { comm });
      const shardManager = constructFullGraph(partitionData); //  shard_manager = sar.construct_full_graph(partition_data)

      // neighbor_sampler = sar.DistNeighborSampler(
      const neighborSampler = new DistNeighborSampler(
        [15, 10, 5], //                                              [15, 10, 5], #Fanout for every layer
        {
          inputNodeFeatures: { features }, //                        input_node_features={'features': features},
          outputNodeFeatures: { labels }, //                         output_node_features={'labels': labels})
        },
      );

      // dataloader = sar.DataLoader(shard_manager, train_nodes, neighbor_sampler, batch_size)
      const dataloader = new DataLoader(shardManager, trainNodes, neighborSampler, batchSize);

      const optimizer = new Adam(gnnModel.parameters(), { lr: 0.01 });
      const losses: number[] = [];
      for (let epoch = 0; epoch < 3; epoch++) {
        const seen: number[] = [];
        let total = 0;
        for (const blocks of dataloader) {
          // for blocks in dataloader: output = gnn_model(blocks)
          const output = gnnModel.forward(blocks, blocks[0].srcdata.features);
          const target = blocks[2].dstdata.labels.dataSync<Int32Array>();
          assert.deepEqual(output.shape, [target.length, width]);
          // "The sampled graphs are vanilla DGL graphs that reside solely on the local machines."
          const { offsets, indices } = blocks[2].adjacency;
          for (const [v, to] of idsOf(blocks[2].dstIds).entries())
            for (const u of indices.subarray(offsets[v], offsets[v + 1])) {
              const from = idsOf(blocks[2].srcIds)[u];
              assert.ok(sourcesOf(whole, to).includes(from), `${from} → ${to}`);
            }
          assertRows(blocks[0].srcdata.features, allFeatures, idsOf(blocks[0].srcIds));
          seen.push(...idsOf(blocks[2].dstIds));
          const count = Float64Array.of(target.length);
          comm.allReduce(count);
          const loss = crossEntropyTotal(output, target, { factor: 1 / count[0] });
          optimizer.zeroGrad();
          loss.backward();
          gatherGrads(gnnModel, { comm });
          optimizer.step();
          const sum = Float64Array.of(loss.item());
          comm.allReduce(sum);
          total += sum[0];
        }
        for (const node of trainNodes) assert.ok(seen.includes(node));
        losses.push(total / dataloader.length);
      }
      assert.ok(losses[2] < 0.7 * losses[0], `losses ${losses}`);
      // A worker without seeds takes part in all batches.
      const seeds = comm.rank === comm.size - 1 && comm.size > 1 ? [] : trainNodes;
      for (const blocks of new DataLoader(shardManager, seeds, neighborSampler, batchSize)) {
        const output = gnnModel.forward(blocks, blocks[0].srcdata.features);
        assert.equal(output.shape[0] > 0, seeds.length > 0);
        optimizer.zeroGrad();
        crossEntropyTotal(output, blocks[2].dstdata.labels.dataSync<Int32Array>(), { factor: 1 }).backward();
        gatherGrads(gnnModel, { comm });
        assert.ok(gnnModel.parameters().every((p) => p.grad?.dataSync().some((value) => value !== 0)));
      }
      // The form with options draws the same.
      const withOptions = new DataLoader(shardManager, trainNodes, neighborSampler, { batchSize });
      assert.equal(withOptions.length, dataloader.length);
      const [[a], [b]] = [dataloader, withOptions].map((loader) =>
        [...loader.epoch(5)].map((x) => x[0].srcIds),
      );
      assert.deepEqual(a, b);
      comm.barrier();
    },
  },
  {
    name: 'Full-graph inference with SAR and mini-batch training with DistDGL',
    async run(comm) {
      setCommunicator(comm);
      const loaded = await load(comm);
      const { first, end } = loaded;
      const device = 'cpu';
      manualSeed(comm.rank + 1);
      // gnn_model = th.nn.parallel.DistributedDataParallel(GNNModel(3))
      const gnnModel = new GNNModel(3);
      syncParams(gnnModel, { comm });
      const g = DistGraph.fromPartitionData(loaded.partitionData, { comm });
      const gsm = convertDistGraph(g).to(device); //               gsm = sar.convert_dist_graph(g).to(device)
      // model_out = gnn_model.module.full_graph_inference(gsm, local_node_features)
      const modelOut = noGrad(() => gnnModel.fullGraphInference(gsm, featuresOf(loaded).to(device)));

      assertRows(modelOut, wholeResult(gnnModel, loaded), range(first, end));
      comm.barrier();
      g.close();
    },
  },
  {
    name: 'names of Python options are corrected',
    async run(comm) {
      setCommunicator(comm);
      const { partitionData } = await load(comm);
      const wrong = { input_node_features: {} } as object;
      assert.throws(
        () => new DistNeighborSampler([5], wrong),
        /got input_node_features. Did you mean inputNodeFeatures\?/,
      );
      assert.throws(
        () => constructFullGraph(partitionData, { partition_data_manager: null } as object),
        /got partition_data_manager. Did you mean partitionDataManager\?/,
      );
      const graph = constructFullGraph(partitionData);
      const sampler = new DistNeighborSampler([5]);
      for (const [name, advice] of [
        ['batch_size', 'Did you mean batchSize\\?'],
        ['drop_last', 'Did you mean dropLast\\?'],
        ['num_workers', 'Known options: '],
      ])
        assert.throws(
          () => new DataLoader(graph, [], sampler, { batchSize: 4, [name]: 1 } as never),
          new RegExp(`got ${name}. ${advice}`),
        );
      assert.throws(() => new DataLoader(graph, [], sampler, 0), /at least 1 for batchSize, got 0/);
      const lock = { held: false, acquire: () => {}, release: () => {} };
      assert.throws(
        () => constructFullGraph(partitionData, { lock }),
        /expected the lock of partitionDataManager for lock/,
      );
      assert.throws(() => graph.to('cuda'), /expected 'cpu' for device, got "cuda"/);
    },
  },
];
