/**
 * The tutorial "Distributed Memory Updater" of StarryGL, step by step: the mailbox is defined, given to the data loader and
 * updated with what `getUpdateMemory` and `getUpdateMail` return. The Python lines stand above what they became.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PartitionData, partitionLoad, partitionSave } from 'skein/data';
import { TemporalGraph } from 'skein/graph';
import { TemporalNeighborSampler } from 'skein/sample';
import { GeneralModel, SharedMailBox, type TemporalBatch, TemporalLoader } from 'skein/temporal';
import { manualSeed, noGrad } from 'skein/tensor';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nativeKernels } from '#internal/native/index.js';
import { makeEvents, numNodes, tgnFile, width } from './stream.js';

const dataname = 'small';
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-tutorial-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const newModel = (): GeneralModel => {
  manualSeed(7);
  return GeneralModel.fromYaml(tgnFile, { dimEdge: width });
};

/** Partitions the stream, and gives the part of this worker. */
async function loadPart(numParts: number, features = true): Promise<PartitionData> {
  const { features: rows, ...ends } = makeEvents(120);
  const data = new TemporalGraph(features ? { ...ends, features: rows } : ends, { numNodes });
  await partitionSave(join(folder, dataname), data, { algo: 'metis_for_tgnn', numParts });
  // pdata = partition_load("PATH/{}".format(dataname), algo="metis_for_tgnn")
  return partitionLoad(join(folder, dataname), { algo: 'metis_for_tgnn', numParts, features: 'all' });
}

describe('defining the mailbox', () => {
  test('from the number of nodes, the memory section and the width of edge features', () => {
    const memoryParam = newModel().config.memory;
    // mailbox = SharedMailBox(num_nodes=num_nodes, memory_param=memory_param, dim_edge_feat=dim_edge_feat)
    const mailbox = new SharedMailBox({ numNodes, memoryParam, dimEdgeFeat: width });
    expect(mailbox.numNodes).toBe(numNodes);
    expect(mailbox.shape).toEqual({ width: 8, slots: 1, deliverTo: 'self', combine: 'last' });
    expect(mailbox.getMail([0, 5]).mail.toArray()).toEqual(Array(2).fill([Array(2 * 8 + width).fill(0)]));
    expect(mailbox.getMemory([3]).memory.toArray()).toEqual([Array(8).fill(0)]);
  });
});

describe('incorporating the mailbox into the data loader', () => {
  // METIS, which cuts a stream into several parts, is in the addon.
  test.each(nativeKernels === null ? [1] : [1, 3])('the mailbox of a part, of %i', async (numParts) => {
    const pdata = await loadPart(numParts);
    const memoryParam = newModel().config.memory;
    // mailbox = SharedMailBox(pdata.ids.shape[0], memory_param,
    //     dim_edge_feat=pdata.edge_attr.shape[1] if pdata.edge_attr is not None else 0)
    const mailbox = new SharedMailBox({
      numNodes: pdata.ids.length,
      memoryParam,
      dimEdgeFeat: pdata.edgeAttr !== null ? pdata.edgeAttr.shape[1] : 0,
    });
    expect(mailbox.numNodes).toBe(pdata.ids.length);
    expect(mailbox.dimEdgeFeat).toBe(width);
    if (numParts === 1) expect(pdata.ids.length).toBe(numNodes);
    else expect(pdata.ids.length).toBeLessThan(numNodes);
  });

  test('without edge features its mails have none', async () => {
    const pdata = await loadPart(1, false);
    expect(pdata.edgeAttr).toBeNull();
    const mailbox = new SharedMailBox({
      numNodes: pdata.ids.length,
      memoryParam: newModel().config.memory,
      dimEdgeFeat: pdata.edgeAttr !== null ? pdata.edgeAttr.shape[1] : 0,
    });
    expect(mailbox.dimEdgeFeat).toBe(0);
  });
});

/** What the tutorial leaves to its data loader and model. */
async function newTraining(): Promise<{
  model: GeneralModel;
  mailbox: SharedMailBox;
  loader: TemporalLoader;
}> {
  const pdata = await loadPart(1);
  const model = newModel();
  const mailbox = new SharedMailBox({
    numNodes: pdata.ids.length,
    memoryParam: model.config.memory,
    dimEdgeFeat: pdata.edgeAttr !== null ? pdata.edgeAttr.shape[1] : 0,
    edgeFeatures: () => pdata.graph.features,
  });
  const { neighbor, strategy } = model.config.sampling;
  const sampler = new TemporalNeighborSampler(pdata.graph, { fanouts: neighbor, strategy });
  const loader = new TemporalLoader(pdata.graph, { sampler, mailbox, batchSize: 15 });
  return { model, mailbox, loader };
}

/** Memory and mail of a batch, from what the model gives. */
function updates(model: GeneralModel, mailbox: SharedMailBox, batch: TemporalBatch) {
  const { src, dst, times, eventRows, srcRoots, dstRoots } = batch;
  const ends = Int32Array.from([...srcRoots, ...dstRoots]);
  const output = noGrad(() => model.forward(batch));
  const memory = output.stateOf(ends);
  return {
    memory: mailbox.getUpdateMemory(
      Int32Array.from([...src, ...dst]),
      memory,
      output.timeOf(ends),
      Int32Array.from([...eventRows, ...eventRows]),
    ),
    mail: mailbox.getUpdateMail({ src, dst, times, eventRows, memory }),
  };
}

describe('updating the relevant storage', () => {
  test('batches carry the memory and mail of all their nodes', async () => {
    const { model, mailbox, loader } = await newTraining();
    let withMail = 0;
    for await (const batch of loader.epoch(0)) {
      const { state, nodes } = batch;
      expect(state!.nodes).toEqual(nodes);
      expect(state!.memory.shape).toEqual([nodes.length, 8]);
      expect(state!.mail.shape).toEqual([nodes.length, 16]);
      expect(state!.memory.toArray()).toEqual(mailbox.getMemory(nodes).memory.toArray());
      for (const node of [...batch.src, ...batch.dst]) expect(nodes).toContain(node);
      withMail += state!.mailCount.reduce((sum, count) => sum + count, 0);
      const { memory, mail } = updates(model, mailbox, batch);
      mailbox.commit({ ...memory, ...mail });
    }
    expect(withMail).toBeGreaterThan(50);
  });

  test('getUpdateMemory and getUpdateMail have every end once, at its latest event', async () => {
    const { model, mailbox, loader } = await newTraining();
    for await (const batch of loader.epoch(0)) {
      const { memory, mail } = updates(model, mailbox, batch);
      const ends = [...new Set([...batch.src, ...batch.dst])].sort((a, b) => a - b);
      expect([...memory.nodes].sort((a, b) => a - b)).toEqual(ends);
      expect([...mail.mailNodes].sort((a, b) => a - b)).toEqual(ends);
      for (const [i, node] of mail.mailNodes.entries()) {
        const last = batch.eventRows.findLast((_, k) => batch.src[k] === node || batch.dst[k] === node);
        expect(mail.mailEvents[i]).toBe(last);
        expect(mail.mailTime[i]).toBe(loader.graph.time[last as number]);
      }
      mailbox.commit({ ...memory, ...mail });
    }
  });

  test.each(['commit', 'setMemoryLocal and setMailboxLocal', 'setMemoryAsync and setMailboxAsync'])(
    'memory changes: %s',
    async (way) => {
      const { model, mailbox, loader } = await newTraining();
      for await (const batch of loader.epoch(0)) {
        const { memory: m, mail } = updates(model, mailbox, batch);
        if (way === 'commit') mailbox.commit({ ...m, ...mail });
        else if (way.endsWith('Local')) {
          mailbox.setMemoryLocal(m.nodes, m.memory, m.memoryTime, m.memoryEvents);
          mailbox.setMailboxLocal(mail.mailNodes, mail.mail, mail.mailTime, mail.mailEvents);
        } else {
          mailbox.setMemoryAsync(m.nodes, m.memory, m.memoryTime, m.memoryEvents);
          mailbox.setMailboxAsync(mail.mailNodes, mail.mail, mail.mailTime, mail.mailEvents);
          mailbox.drain();
        }
      }
      const all = Int32Array.from({ length: numNodes }, (_, i) => i);
      const { memory, time } = mailbox.getMemory(all);
      const rows = memory.toArray() as number[][];
      const changed = rows.filter((row) => row.some((x) => x !== 0)).length;
      expect(changed).toBe(numNodes);
      expect(Math.max(...time)).toBeGreaterThan(60);
      const { mail } = mailbox.getMail(all);
      const { features } = loader.graph;
      const { events } = mailbox.getMail(all);
      const mails = mail.toArray() as number[][][];
      for (const node of all)
        expect(mails[node][0].slice(16)).toEqual([
          ...features!.slice(events[node] * width, (events[node] + 1) * width),
        ]);
      // All ways end with the same state.
      const other = await newTraining();
      for await (const batch of other.loader.epoch(0)) {
        const update = updates(other.model, other.mailbox, batch);
        other.mailbox.commit({ ...update.memory, ...update.mail });
      }
      expect(other.mailbox.snapshot().arrays).toEqual(mailbox.snapshot().arrays);
    },
  );
});
