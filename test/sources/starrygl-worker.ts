/**
 * One worker of the distributed memory updater in starrygl-mailbox.test.ts: `starrygl-worker.ts <path> <algo>`. Goes through all
 * events with the other workers and writes the final arrays of the mailbox to `<path>/result-<rank>.json`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { partitionLoad } from 'skein/data';
import { DistributedStore, divideByOwner, NodeOwners, openCommunicator, WorkerLoader } from 'skein/dist';
import { TemporalNeighborSampler } from 'skein/sample';
import { type PartitionAlgorithm, SharedMailBox } from 'skein/temporal';
import { batchSize, emptyDelta, newModel, updates } from './starrygl-steps.js';

const [path, algo] = process.argv.slice(2);
const comm = openCommunicator({ timeout: 60, peerTimeout: 20 });
const model = newModel();

// pdata = partition_load("PATH/{}".format(dataname), algo="metis_for_tgnn")
const pdata = await partitionLoad(path, { algo: algo as PartitionAlgorithm, features: 'all' });
const owners = NodeOwners.fromPartitions(pdata.master, pdata.numParts, comm.size);
// mailbox = SharedMailBox(pdata.ids.shape[0], memory_param, dim_edge_feat=pdata.edge_attr.shape[1] if …)
const mailbox = new SharedMailBox({
  numNodes: pdata.ids.length,
  memoryParam: model.config.memory,
  dimEdgeFeat: pdata.edgeAttr !== null ? pdata.edgeAttr.shape[1] : 0,
  store: (sizes, combine) => new DistributedStore(sizes, combine, { comm, owners }),
});
const { neighbor, strategy } = model.config.sampling;
const loader = new WorkerLoader(pdata.graph, {
  ...{ comm, mailbox, batchSize },
  sampler: new TemporalNeighborSampler(pdata.graph, { fanouts: neighbor, strategy }),
  division: divideByOwner((row) => pdata.edgeOwner[row]),
});
let events = 0;
for await (const { chunks } of loader.epoch(0)) {
  const [batch] = chunks;
  if (batch === null) {
    mailbox.commit(emptyDelta(mailbox));
    continue;
  }
  events += batch.src.length;
  const { memory, mail } = updates(model, mailbox, batch);
  mailbox.commit({ ...memory, ...mail });
}
const { arrays } = mailbox.snapshot();
const plain = Object.fromEntries(Object.entries(arrays).map(([name, values]) => [name, [...values]]));
const { rank, numParts, ids } = pdata;
const { numNodes, localBytes, bytes } = mailbox;
writeFileSync(
  join(path, `result-${rank}.json`),
  JSON.stringify({ rank, numParts, ids: [...ids], events, numNodes, localBytes, bytes, arrays: plain }),
);
comm.close();
