/**
 * StarryGL's tutorial "Distributed Memory Updater": every code block line by line, in one process and on workers. The line of the
 * document is in the comment next to ours; docs/source-documents.md says why a form differs.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type PartitionLoadOptions,
  partitionLoad,
  partitionSave,
  type StreamPartitionData,
} from 'skein/data';
import { TemporalGraph } from 'skein/graph';
import { TemporalNeighborSampler } from 'skein/sample';
import { type GeneralModel, type PartitionAlgorithm, SharedMailBox, TemporalLoader } from 'skein/temporal';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { nativeKernels } from '#internal/native/index.js';
import type { MemoryParam } from '#internal/temporal/mailbox/memory-param.js';
import { hasMpi, launch, withoutMpi } from '../dist/launch.js';
import { makeEvents, numNodes, width } from '../temporal/stream.js';
import { batchSize, newModel, updates } from './starrygl-steps.js';

const dataname = 'small';
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-tutorial-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** METIS is in the addon. */
const metis = nativeKernels === null ? 'LDG_for_tgnn' : 'metis_for_tgnn';
const all = Int32Array.from({ length: numNodes }, (_, i) => i);

interface Saved {
  readonly algo?: PartitionAlgorithm;
  readonly numParts?: number;
  readonly features?: boolean;
}

/** Saves the partitions that the document's programs load. */
async function save({ algo = metis, numParts = 1, features = true }: Saved = {}): Promise<void> {
  const { features: rows, ...ends } = makeEvents(120);
  const data = new TemporalGraph(features ? { ...ends, features: rows } : ends, { numNodes });
  await partitionSave(join(folder, dataname), data, { algo, numParts });
}

const load = (options: Omit<PartitionLoadOptions, 'algo'> = {}): Promise<StreamPartitionData> =>
  partitionLoad(`${folder}/${dataname}`, { algo: metis, ...options });

/** The document's mailbox of a partition. */
const mailboxOf = (pdata: StreamPartitionData, memoryParam: MemoryParam): SharedMailBox =>
  // mailbox = SharedMailBox(pdata.ids.shape[0], memory_param,
  //     dim_edge_feat=pdata.edge_attr.shape[1] if pdata.edge_attr is not None else 0)
  new SharedMailBox({
    numNodes: pdata.ids.length,
    memoryParam,
    dimEdgeFeat: pdata.edgeAttr !== null ? pdata.edgeAttr.shape[1] : 0,
  });

function loaderOf(pdata: StreamPartitionData, mailbox: SharedMailBox, model: GeneralModel): TemporalLoader {
  const { neighbor, strategy } = model.config.sampling;
  const sampler = new TemporalNeighborSampler(pdata.graph, { fanouts: neighbor, strategy });
  return new TemporalLoader(pdata, { sampler, mailbox, batchSize });
}

async function newTraining() {
  await save();
  const pdata = await load();
  const model = newModel();
  const mailbox = mailboxOf(pdata, model.config.memory);
  return { pdata, model, mailbox, loader: loaderOf(pdata, mailbox, model) };
}

describe('Defining the Mailbox', () => {
  test('from the number of nodes, the memory section and the width of edge features', () => {
    const memoryParam = newModel().config.memory;
    const dimEdgeFeat = width;
    // mailbox = SharedMailBox(num_nodes=num_nodes, memory_param=memory_param, dim_edge_feat=dim_edge_feat)
    const mailbox = new SharedMailBox({ numNodes, memoryParam, dimEdgeFeat });
    expect(mailbox.numNodes).toBe(numNodes);
    expect(mailbox.shape).toEqual({ width: 8, slots: 1, deliverTo: 'self', combine: 'last' });
    expect(mailbox.getMail([0, 5]).mail.toArray()).toEqual(Array(2).fill([Array(2 * 8 + width).fill(0)]));
    expect(mailbox.getMemory([3]).memory.toArray()).toEqual([Array(8).fill(0)]);
  });

  test('memory_param as the YAML file has it: a list of one section', async () => {
    // "memory_param: The memory parameters specified in the YAML file"
    const { memory: memoryParam } = parse(await readFile('examples/temporal/tgn.yml', 'utf8'));
    expect(memoryParam).toHaveLength(1);
    const mailbox = new SharedMailBox({ numNodes, memoryParam, dimEdgeFeat: 2 });
    expect(mailbox.shape).toEqual({ width: 100, slots: 1, deliverTo: 'self', combine: 'last' });
    expect(mailbox.getMail([0]).mail.shape).toEqual([1, 1, 202]);
    for (const wrong of [[], [memoryParam[0], memoryParam[0]]])
      expect(() => new SharedMailBox({ numNodes, memoryParam: wrong as never })).toThrow(
        /expected the memory section of a model file for memoryParam/,
      );
  });
});

describe('Incorporating the Mailbox into the Data Loader', () => {
  test('partition_load takes the number of partitions from the workers: one here', async () => {
    await save();
    // pdata = partition_load("PATH/{}".format(dataname), algo="metis_for_tgnn")
    const pdata = await partitionLoad(`${folder}/${dataname}`, { algo: metis });
    expect({ rank: pdata.rank, numParts: pdata.numParts }).toEqual({ rank: 0, numParts: 1 });
    expect([...pdata.ids]).toEqual([...all]);
    expect(pdata.edgeAttr?.shape).toEqual([120, width]);
    expect(pdata.graph.features).toEqual(makeEvents(120).features);
    const mailbox = mailboxOf(pdata, newModel().config.memory);
    expect([mailbox.numNodes, mailbox.dimEdgeFeat]).toEqual([numNodes, width]);
  });

  test('without edge features their dimension is 0', async () => {
    await save({ features: false });
    const pdata = await load();
    expect(pdata.edgeAttr).toBeNull();
    expect(mailboxOf(pdata, newModel().config.memory).dimEdgeFeat).toBe(0);
  });

  test('LDG_for_tgnn is the other algorithm of partition_tgnn', async () => {
    await save({ algo: 'LDG_for_tgnn', numParts: 3 });
    const pdata = await partitionLoad(`${folder}/${dataname}`, {
      algo: 'LDG_for_tgnn',
      numParts: 3,
      rank: 1,
    });
    await save({ algo: 'ldg', numParts: 3 });
    const ldg = await partitionLoad(`${folder}/${dataname}`, { algo: 'ldg', numParts: 3, rank: 1 });
    expect(pdata.master).toEqual(ldg.master);
    expect(pdata.ids).toEqual(ldg.ids);
  });

  test('the relevant memory and mail are loaded with every batch', async () => {
    const { model, mailbox, loader } = await newTraining();
    let numMails = 0;
    for await (const batch of loader.epoch(0)) {
      const { state, nodes } = batch;
      expect(state!.nodes).toEqual(nodes);
      expect(state!.memory.shape).toEqual([nodes.length, 8]);
      expect(state!.mail.shape).toEqual([nodes.length, 16]);
      expect(state!.memory.toArray()).toEqual(mailbox.getMemory(nodes).memory.toArray());
      for (const node of [...batch.src, ...batch.dst]) expect(nodes).toContain(node);
      numMails += state!.mailCount.reduce((sum, count) => sum + count, 0);
      const { memory, mail } = updates(model, mailbox, batch);
      mailbox.commit({ ...memory, ...mail });
    }
    expect(numMails).toBeGreaterThan(50);
  });

  test.each([0, 1, 2])('a mailbox with the rows of partition %i of 3 works in its loader', async (rank) => {
    await save({ numParts: 3 });
    const pdata = await load({ numParts: 3, rank, features: 'all' });
    expect(pdata.ids.length).toBeLessThan(numNodes);
    const model = newModel();
    const mailbox = mailboxOf(pdata, model.config.memory);
    const loader = loaderOf(pdata, mailbox, model);
    expect(loader.numEvents).toBe(pdata.eids.length);
    // The same with a row for every node, into which only the partition's nodes are written.
    const whole = new SharedMailBox({ numNodes, memoryParam: model.config.memory, dimEdgeFeat: width });
    const reference = loaderOf(pdata, whole, model).epoch(0);
    const own = new Set(pdata.ids);
    const keep = (ids: Int32Array): Int32Array => Int32Array.from(ids.keys()).filter((i) => own.has(ids[i]));
    let foreign = 0;
    for await (const batch of loader.epoch(0)) {
      const wanted = (await reference.next()).value!;
      expect(batch.nodes).toEqual(wanted.nodes);
      expect(batch.state!.memory.toArray()).toEqual(wanted.state!.memory.toArray());
      expect(batch.state!.mail.toArray()).toEqual(wanted.state!.mail.toArray());
      expect(batch.state!.mailEvents).toEqual(wanted.state!.mailEvents);
      foreign += batch.nodes.filter((node) => !own.has(node)).length;
      const { memory: m, mail } = updates(model, mailbox, batch);
      mailbox.commit({ ...m, ...mail });
      const [rows, mails] = [keep(m.nodes), keep(mail.mailNodes)];
      const pick = <T extends Int32Array | Float64Array>(values: T, at: Int32Array): T =>
        values.filter((_, i) => at.includes(i)) as T;
      whole.setMemoryLocal(
        pick(m.nodes, rows),
        m.memory.gatherRows(rows),
        pick(m.memoryTime, rows),
        pick(m.memoryEvents, rows),
      );
      whole.setMailboxLocal(
        pick(mail.mailNodes, mails),
        mail.mail.gatherRows(mails),
        pick(mail.mailTime, mails),
        pick(mail.mailEvents, mails),
      );
    }
    expect(foreign).toBeGreaterThan(0);
    // Ids are global, rows are those of the partition.
    expect(mailbox.numNodes).toBe(numNodes);
    expect(mailbox.bytes * numNodes).toBe(whole.bytes * pdata.ids.length);
    expect(mailbox.getMemory(all).memory.toArray()).toEqual(whole.getMemory(all).memory.toArray());
    expect(mailbox.getMail(all)).toEqual(whole.getMail(all));
    const saved = mailbox.snapshot();
    expect(saved.numNodes).toBe(pdata.ids.length);
    mailbox.reset();
    expect(mailbox.getMemory(pdata.ids).time.every((time) => time === 0)).toBe(true);
    mailbox.restore(saved);
    expect(mailbox.getMail(all)).toEqual(whole.getMail(all));
  });

  test('a mailbox that does not fit the partition is rejected', async () => {
    await save({ numParts: 3 });
    const [first, second] = [await load({ numParts: 3 }), await load({ numParts: 3, rank: 1 })];
    const model = newModel();
    const { memory: memoryParam } = model.config;
    const small = new SharedMailBox({ numNodes: 2, memoryParam });
    expect(() => loaderOf(first, small, model)).toThrow(
      `TemporalLoader: expected ${first.ids.length} rows (its partition) or ${numNodes} for mailbox, got 2.`,
    );
    const mailbox = mailboxOf(first, memoryParam);
    loaderOf(first, mailbox, model);
    loaderOf(first, mailbox, model);
    expect(() => loaderOf(second, mailbox, model)).toThrow(/got "the rows of another partition"/);
  });
});

describe('Updating the Relevant Storage', () => {
  test('get_update_memory and get_update_mail have every end once, at its latest event', async () => {
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
    'the storage is updated by %s',
    async (method) => {
      const { model, mailbox, loader } = await newTraining();
      for await (const batch of loader.epoch(0)) {
        const { memory: m, mail } = updates(model, mailbox, batch);
        if (method === 'commit') mailbox.commit({ ...m, ...mail });
        else if (method.endsWith('Local')) {
          mailbox.setMemoryLocal(m.nodes, m.memory, m.memoryTime, m.memoryEvents);
          mailbox.setMailboxLocal(mail.mailNodes, mail.mail, mail.mailTime, mail.mailEvents);
        } else {
          mailbox.setMemoryAsync(m.nodes, m.memory, m.memoryTime, m.memoryEvents);
          mailbox.setMailboxAsync(mail.mailNodes, mail.mail, mail.mailTime, mail.mailEvents);
          mailbox.drain();
        }
      }
      const { memory, time } = mailbox.getMemory(all);
      const rows = memory.toArray() as number[][];
      expect(rows.filter((row) => row.some((x) => x !== 0)).length).toBe(numNodes);
      expect(Math.max(...time)).toBeGreaterThan(60);
      const { mail, events } = mailbox.getMail(all);
      const { features } = loader.graph;
      const mails = mail.toArray() as number[][][];
      for (const node of all)
        expect(mails[node][0].slice(16)).toEqual([
          ...features!.slice(events[node] * width, (events[node] + 1) * width),
        ]);
      const other = await newTraining();
      for await (const batch of other.loader.epoch(0)) {
        const update = updates(other.model, other.mailbox, batch);
        other.mailbox.commit({ ...update.memory, ...update.mail });
      }
      expect(other.mailbox.snapshot().arrays).toEqual(mailbox.snapshot().arrays);
    },
  );
});

describe.skipIf(!hasMpi)(`the distributed memory updater${withoutMpi}`, () => {
  test('two workers hold the rows of their partitions; the storage is that of one process', async () => {
    await save({ numParts: 2 });
    const job = await launch(2, 'test/sources/starrygl-worker.ts', [join(folder, dataname), metis]);
    expect({ code: job.code, err: job.err }).toEqual({ code: 0, err: '' });
    const results = [0, 1].map((rank) => readFile(join(folder, dataname, `result-${rank}.json`), 'utf8'));
    const workers = (await Promise.all(results)).map((text) => JSON.parse(text));
    expect(workers.map(({ rank, numParts }) => [rank, numParts])).toEqual([
      [0, 2],
      [1, 2],
    ]);
    expect(workers.flatMap(({ ids }) => ids).sort((a: number, b: number) => a - b)).toEqual([...all]);
    expect(workers[0].events + workers[1].events).toBe(120);
    for (const { ids, localBytes, bytes, numNodes: ofAll } of workers) {
      expect(ofAll).toBe(numNodes);
      expect(localBytes * numNodes).toBe(bytes * ids.length);
    }
    const { model, mailbox, loader } = await newTraining();
    for await (const batch of loader.epoch(0)) {
      const { memory, mail } = updates(model, mailbox, batch);
      mailbox.commit({ ...memory, ...mail });
    }
    const { arrays } = mailbox.snapshot();
    for (const worker of workers)
      for (const [name, values] of Object.entries(arrays))
        expect([name, worker.arrays[name]]).toEqual([name, [...values]]);
  });
});
