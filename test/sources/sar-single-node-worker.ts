/** One worker of the section "Single-node training" of SAR's page (sar-quick-start.test.ts). Prints one JSON line. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  constructFullGraph,
  currentCommunicator,
  FileLock,
  gatherGrads,
  loadDglPartitionData,
  openCommunicator,
  PartitionDataManager,
  suffixKeyLookup,
  syncParams,
} from 'skein/dist';
import type { MessageGraph } from 'skein/graph';
import { Adam } from 'skein/nn';
import { crossEntropyTotal, gatherRows, type Tensor } from 'skein/tensor';
import { GNNModel, load } from './sar-data.js';

const comm = openCommunicator({ timeout: 60, peerTimeout: 20 });
const { rank } = comm;
const { jsonFile } = await load(comm);
const device = 'cpu';
const folder = join(process.env['SKEIN_TEST_SAR'] as string, 'single-node');
mkdirSync(folder, { recursive: true });

/** Losses of a few epochs on the whole graph. */
function train(graph: MessageGraph, features: Tensor, labels: Int32Array, rows: Int32Array): number[] {
  const gnnModel = new GNNModel(2);
  syncParams(gnnModel); // Synchronizing model's parameters
  const optimizer = new Adam(gnnModel.parameters(), { lr: 0.01 });
  return [0, 1, 2].map(() => {
    const logits = gnnModel.fullGraphInference(graph, features); // logits = gnn_model(full_graph_manager, …features)
    const target = rows.map((row) => labels[row]);
    const loss = crossEntropyTotal(gatherRows(logits, rows), target, { factor: 0.01 });
    optimizer.zeroGrad();
    loss.backward();
    gatherGrads(gnnModel);
    optimizer.step();
    const total = Float64Array.of(loss.item());
    currentCommunicator().allReduce(total);
    return total[0];
  });
}

const lock = new FileLock(join(folder, 'lock'));
// partition_data_manager = sar.PartitionDataManager(rank, lock)
const partitionDataManager = new PartitionDataManager(rank, lock, {
  folder: join(folder, 'partition_rank_'),
  minBytes: 0,
});

// partition_data_manager.partition_data = sar.load_dgl_partition_data(json_file, rank, device)
partitionDataManager.partitionData = await loadDglPartitionData(jsonFile, rank, device);
const { nodeFeatures } = partitionDataManager.partitionData;

partitionDataManager.masks = {}; // partition_data_manager.masks = {}
// for mask_name, indices_name in zip([…], […]):
for (const [maskName, indicesName] of [
  ['train_mask', 'train_indices'],
  ['val_mask', 'val_indices'],
  ['test_mask', 'test_indices'],
]) {
  // boolean_mask = sar.suffix_key_lookup(partition_data_manager.partition_data.node_features, mask_name)
  const booleanMask = suffixKeyLookup(nodeFeatures, maskName).dataSync<Uint8Array>();
  // partition_data_manager.masks[indices_name] = boolean_mask.nonzero(as_tuple=False).view(-1).to(device)
  partitionDataManager.masks[indicesName] = Int32Array.from(booleanMask.keys()).filter(
    (row) => booleanMask[row] !== 0,
  );
}

// partition_data_manager.labels = sar.suffix_key_lookup(…node_features, 'labels').long().to(device)
partitionDataManager.labels = suffixKeyLookup(nodeFeatures, 'labels').to(device);

// partition_data_manager.features = sar.suffix_key_lookup(…node_features, 'features').to(device)
partitionDataManager.features = suffixKeyLookup(nodeFeatures, 'features').to(device);

const features = partitionDataManager.features as Tensor;
const labels = (partitionDataManager.labels as Tensor).dataSync<Int32Array>();
const trainRows = partitionDataManager.masks['train_indices'] as Int32Array;
// The same without the manager, to compare with.
const expected = train(constructFullGraph(partitionDataManager.partitionData), features, labels, trainRows);

// full_graph_manager = sar.construct_full_graph(partition_data_manager.partition_data,
//                                               partition_data_manager=partition_data_manager, lock=lock).to(device)
const fullGraphManager = constructFullGraph(partitionDataManager.partitionData, {
  partitionDataManager,
  lock,
}).to(device);
const losses = train(fullGraphManager, features, labels, trainRows);

const { spills } = partitionDataManager.stats;
const isOnDisk = partitionDataManager.doesFileExist('tensors');
partitionDataManager.delete();
// The communicator of single-node training is an ordinary one after delete().
const after = Float64Array.of(1);
currentCommunicator().allReduce(after);
let again = '';
try {
  constructFullGraph(partitionDataManager.partitionData, { partitionDataManager, lock });
} catch (error) {
  again = (error as Error).message;
}
process.stdout.write(
  `${JSON.stringify({ rank, expected, losses, spills, isOnDisk, after: after[0], again, masks: trainRows.length })}\n`,
);
currentCommunicator().close();
