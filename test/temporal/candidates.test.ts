/** Scores of all candidates at the times of all events: the same as those of a batch whose negatives are the candidates. */
import { type TemporalEvents, TemporalGraph } from 'skein/graph';
import { TemporalNeighborSampler } from 'skein/sample';
import {
  GeneralModel,
  OnlineScorer,
  SharedMailBox,
  type TemporalBatch,
  TemporalLoader,
  TemporalRuntime,
} from 'skein/temporal';
import { manualSeed, randn } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { ranksAmong } from '#internal/temporal/candidates.js';
import { candidateScorer } from '#internal/temporal/models/candidate-scorer.js';
import { families, makeEvents, numNodes, numUsers, tgnFile } from './stream.js';

const files: Readonly<Record<string, string>> = {
  tgn: tgnFile,
  'one head': tgnFile.replace('att_head: 2', 'att_head: 1'),
  'with pairs': families['tgn with pairs'],
  'variant of TGL': tgnFile.replace('variant: tgn', 'variant: tgl'),
  'variant of TGL with pairs': tgnFile.replace('variant: tgn', 'variant: tgl, pair_depth: 3'),
  'memory by a transformer': tgnFile.replace(
    'memory_update: gru, mailbox_size: 1',
    'memory_update: transformer, mailbox_size: 3, attention_head: 2',
  ),
  'no memory, features of nodes': `
sampling: [{ layer: 1, neighbor: [4], strategy: recent }]
memory: [{ type: none }]
gnn: [{ arch: transformer_attention, layer: 1, att_head: 2, dim_time: 6, dim_out: 8 }]
train: [{ epoch: 1, batch_size: 10 }]`,
};

/** All items, which are the destinations, of which the last has no events. */
const candidates = Int32Array.from({ length: numNodes - numUsers + 1 }, (_, i) => numUsers + i);

interface Options {
  readonly file: string;
  readonly events: TemporalEvents;
  readonly cadence: 'moment' | 'batch';
  readonly negatives: boolean;
}

function makeRun({ file, events, cadence, negatives }: Options) {
  manualSeed(7);
  const bare = file.includes('type: none');
  const nodeFeatures = randn([numNodes + 1, 5]);
  const graph = new TemporalGraph(events, { numNodes: numNodes + 1, ...(bare ? { nodeFeatures } : {}) });
  const model = GeneralModel.fromYaml(file, { dimEdge: graph.featureWidth, dimNode: bare ? 5 : 0 });
  const { memory, sampling, gnn } = model.config;
  const mailbox = bare
    ? null
    : new SharedMailBox({
        numNodes: numNodes + 1,
        memoryParam: memory,
        dimEdgeFeat: graph.featureWidth,
        edgeFeatures: () => graph.features,
      });
  const scorer = candidateScorer(model, graph, mailbox);
  const amount = candidates.length;
  const draw = (rows: Int32Array): Int32Array =>
    Int32Array.from(Array.from(rows, () => [...candidates]).flat());
  const loader = new TemporalLoader(graph, {
    ...{ mailbox, cadence, batchSize: 12, pairDepth: gnn.pair_depth },
    sampler: new TemporalNeighborSampler(graph, { fanouts: sampling.neighbor }),
    negatives: negatives ? { amount, draw } : null,
  });
  const runtime = new TemporalRuntime({ model, mailbox, candidates: scorer });
  return { runtime, loader, graph, model };
}

const withoutFeatures = ({ features: _, ...events }: ReturnType<typeof makeEvents>): TemporalEvents => events;

describe.each(Object.entries(files))('%s', (_, file) => {
  describe.each(['moment', 'batch'] as const)('cadence %s', (cadence) => {
    it.each(['with', 'without'])('%s edge features', async (given) => {
      const events = given === 'with' ? makeEvents(120) : withoutFeatures(makeEvents(120));
      const general = makeRun({ file, events, cadence, negatives: true });
      const fast = makeRun({ file, events, cadence, negatives: false });
      const batches: TemporalBatch[] = [];
      const want: { readonly positive: Float32Array; readonly negative: Float32Array }[] = [];
      for await (const batch of general.loader.epoch(0)) want.push(general.runtime.evaluate(batch));
      let step = 0;
      for await (const batch of fast.loader.epoch(0)) {
        batches.push(batch);
        const got = fast.runtime.evaluateCandidates?.(batch, { candidates, cadence });
        if (got === undefined) throw new Error('the model does not score candidates');
        const { positive, negative } = want[step++];
        expectNear(got.candidates, negative);
        expectNear(got.positive, positive);
        const own = Array.from(batch.dst, (node, i) => i * candidates.length + candidates.indexOf(node));
        const ranks = ranksAmong({ positive, candidates: negative }, candidates.length, own);
        expect([...ranksAmong(got, candidates.length, own)]).toEqual([...ranks]);
      }
      expect(step).toBe(want.length);
    });
  });
});

describe('candidates', () => {
  it('may lack destinations of events, in any order', async () => {
    const options = { file: files['with pairs'], events: makeEvents(60), cadence: 'moment' } as const;
    const all = makeRun({ ...options, negatives: false });
    const few = makeRun({ ...options, negatives: false });
    const some = Int32Array.of(candidates[3], candidates[0]);
    const batches = few.loader.epoch(0);
    for await (const batch of all.loader.epoch(0)) {
      const want = all.runtime.evaluateCandidates?.(batch, { candidates });
      const { value } = await batches.next();
      const got = few.runtime.evaluateCandidates?.(value as TemporalBatch, { candidates: some });
      expect([...(got?.positive ?? [])]).toEqual([...(want?.positive ?? [])]);
      const same = Array.from(batch.src, (_, i) =>
        [3, 0].map((c) => want?.candidates[i * candidates.length + c]),
      );
      expect([...(got?.candidates ?? [])]).toEqual(same.flat());
    }
  });

  it.each([
    ['draws', families.tgat],
    ['memory at the time of the question', families['tgn of TGL']],
    ['no attention', families.jodie],
    ['two layers', tgnFile.replaceAll('layer: 1', 'layer: 2').replace('[4]', '[4, 4]')],
  ])('need a row of their own at every time with %s', (_, file) => {
    const model = GeneralModel.fromYaml(file, { dimEdge: 3 });
    const graph = new TemporalGraph(makeEvents(20), { numNodes });
    expect(candidateScorer(model, graph, null)).toBeNull();
  });
});

/** Folded weights round differently; scores are sums of some hundred numbers near 1. */
function expectNear(actual: ArrayLike<number>, wanted: ArrayLike<number>): void {
  expect(actual.length).toBe(wanted.length);
  let worst = 0;
  for (let i = 0; i < actual.length; i++) worst = Math.max(worst, Math.abs(actual[i] - wanted[i]));
  expect(worst).toBeLessThan(5e-6);
}

describe('OnlineScorer with many destinations of one source', () => {
  const { file, events } = { file: files['with pairs'], events: makeEvents(120) };
  const many = Int32Array.from({ length: 80 }, (_, i) => i % (numNodes + 1));

  it('gives the scores of few, also after events, other parameters and a reset', async () => {
    const { runtime, loader, graph, model } = makeRun({ file, events, cadence: 'moment', negatives: false });
    const sampler = new TemporalNeighborSampler(graph, { fanouts: [4] });
    const scorer = new OnlineScorer({ graph, runtime, sampler, pairDepth: 8, stateRows: 0 });
    const compare = (): Float32Array => {
      const all = scorer.score(3, many) as Float32Array;
      const few = Float32Array.from(many, (node) => scorer.score(3, node)[0]);
      expectNear(all, few);
      return few;
    };
    const before = compare();
    for await (const batch of loader.epoch(0)) runtime.observe(batch);
    const after = compare();
    expect([...after]).not.toEqual([...before]);
    graph.append({
      ...{ src: [3, 2], dst: [numUsers, numUsers + 1], time: [events.time[119] + 1, events.time[119] + 2] },
      features: new Float32Array(6),
    });
    compare();
    for (const { floats } of model.parameters()) floats.set(floats.map((x) => 1.1 * x));
    compare();
    runtime.state?.reset();
    compare();
  });
});
