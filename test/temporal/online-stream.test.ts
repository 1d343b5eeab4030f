/** A trained model on a live stream: the scores of an evaluation, new nodes, rejected queries, latencies. */
import { TemporalGraph } from 'skein/graph';
import { TemporalNeighborSampler } from 'skein/sample';
import { type GeneralModel, OnlineScorer, SharedMailBox, TemporalRuntime } from 'skein/temporal';
import { ShapeError, ValueError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { makeEvents, makeRig, numNodes, numUsers, tgnFile, width } from './stream.js';

const families = {
  tgn: tgnFile,
  'tgn with pairs': tgnFile.replace('variant: tgn', 'variant: tgn, pair_depth: 8'),
  apan: `
sampling: [{ layer: 1, neighbor: [4], strategy: recent }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: transformer, mailbox_size: 3, attention_head: 2, deliver_to: neighbors }]
gnn: [{ arch: identity }]
train: [{ epoch: 1, batch_size: 10 }]`,
  jodie: `
sampling: [{ layer: 0, strategy: identity }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: rnn, mailbox_size: 1 }]
gnn: [{ arch: identity, time_transform: JODIE }]
train: [{ epoch: 1, batch_size: 10 }]`,
  tgat: `
sampling: [{ layer: 2, neighbor: [3, 3], strategy: recent }]
memory: [{ type: none }]
gnn: [{ arch: transformer_attention, layer: 2, att_head: 2, dim_time: 6, dim_out: 8 }]
train: [{ epoch: 1, batch_size: 10 }]`,
};

type Events = ReturnType<typeof makeEvents>;

const part = ({ src, dst, time, features }: Events, from: number, to: number) => ({
  src: src.slice(from, to),
  dst: dst.slice(from, to),
  time: time.slice(from, to),
  features: features.slice(from * width, to * width),
});

interface OnlineOptions {
  readonly events?: ReturnType<typeof part>;
  readonly growNodes?: boolean;
  readonly batchSize?: number;
  readonly model?: GeneralModel;
}

/** A scorer over a stream that begins empty, or with some events that memory does not know yet. */
function newScorer(
  file: string,
  { events, growNodes = false, batchSize = 10, model: given }: OnlineOptions = {},
) {
  const model = given ?? makeRig(makeEvents(10), { file }).model;
  const graph = new TemporalGraph(events ?? { src: [], dst: [], time: [], features: new Float32Array(0) }, {
    ...{ numNodes, growNodes, featureWidth: width },
  });
  const { memory, sampling, gnn } = model.config;
  const mailbox =
    memory.type === 'none'
      ? null
      : new SharedMailBox({
          ...{ numNodes, memoryParam: memory, dimEdgeFeat: width },
          edgeFeatures: () => graph.features,
        });
  const { neighbor: fanouts, strategy } = sampling;
  const sampler = new TemporalNeighborSampler(graph, { fanouts, strategy, seed: 1 });
  const runtime = new TemporalRuntime({ model, mailbox });
  const scorer = new OnlineScorer({
    ...{ graph, sampler, runtime, batchSize, stateRows: 0, pairDepth: gnn.pair_depth },
  });
  return { scorer, graph, mailbox };
}

describe.each(Object.entries(families))('%s', (_name, file) => {
  test('events that come in batch by batch have the scores of an evaluation, bit for bit', async () => {
    const events = makeEvents(80);
    const rig = makeRig(events, { file, tieGroups: true });
    const { scorer, mailbox } = newScorer(file, { model: rig.model, batchSize: 1000 });
    let done = 0;
    for await (const batch of rig.loader.epoch(0)) {
      const { positive, negative } = rig.runtime.evaluate(batch);
      const end = done + batch.eventRows.length;
      expect(scorer.append(part(events, done, end))).toEqual({ firstRow: done, count: end - done });
      if (mailbox !== null) expect(scorer.numWaiting).toBe(end - done);
      for (let i = 0; i < positive.length; i++) {
        const t = batch.times[i];
        const scores = scorer.score([batch.src[i]], [batch.dst[i], batch.negatives[i]], t);
        expect([...scores]).toEqual([positive[i], negative[i]]);
      }
      expect(scorer.advance()).toBe(mailbox === null ? 0 : end - done);
      done = end;
    }
    expect(done).toBe(80);
    expect(scorer.numWaiting).toBe(0);
    expect(mailbox?.snapshot()).toEqual(rig.mailbox?.snapshot());
  });

  test('scores change nothing and do not depend on what is asked with them', () => {
    const { scorer, mailbox } = newScorer(file, { events: part(makeEvents(60), 0, 60) });
    scorer.advance();
    const before = mailbox?.snapshot();
    const items = Array.from({ length: numNodes - numUsers }, (_, i) => numUsers + i);
    const together = [...scorer.score([3], items)];
    expect([...scorer.score([3], items)]).toEqual(together);
    // Many destinations of one source are added up in another order than pairs: the last bits differ.
    for (const [i, item] of items.entries()) expect(scorer.score([3], [item])[0]).toBe(together[i]);
    const sources = items.map(() => 3);
    for (const [i, score] of scorer.score(sources, items).entries()) expect(score).toBe(together[i]);
    expect(mailbox?.snapshot()).toEqual(before);
    expect(new Set(together).size).toBeGreaterThan(3);
  });
});

describe('advance', () => {
  test('takes waiting events in the batches of training', async () => {
    const events = makeEvents(60);
    // One event a moment, so that batches of ten have the same boundaries.
    for (let i = 0; i < 60; i++) events.time[i] = i;
    const rig = makeRig(events, { tieGroups: true });
    for await (const batch of rig.loader.epoch(0)) rig.runtime.evaluate(batch);
    const { scorer, mailbox } = newScorer(tgnFile, { model: rig.model });
    scorer.append(part(events, 0, 60));
    expect(scorer.numWaiting).toBe(60);
    expect(scorer.advance(20)).toBe(20);
    expect(scorer.numWaiting).toBe(40);
    expect(scorer.advance()).toBe(40);
    expect(scorer.advance()).toBe(0);
    expect(mailbox!.snapshot()).toEqual(rig.mailbox!.snapshot());
  });

  test('keeps the events of one moment together, as training does', async () => {
    const events = makeEvents(80);
    const rig = makeRig(events, { tieGroups: true });
    for await (const batch of rig.loader.epoch(0)) rig.runtime.evaluate(batch);
    const { scorer, mailbox } = newScorer(tgnFile, { model: rig.model });
    scorer.append(part(events, 0, 80));
    scorer.advance();
    expect(mailbox!.snapshot()).toEqual(rig.mailbox!.snapshot());
  });

  test('a model without memory has nothing to wait for', () => {
    const { scorer } = newScorer(families.tgat, { events: part(makeEvents(30), 0, 30) });
    expect([scorer.numWaiting, scorer.advance()]).toEqual([0, 0]);
  });
});

describe('new nodes', () => {
  test.each(Object.entries(families))('%s: come with their first event', (_name, file) => {
    const { scorer, graph, mailbox } = newScorer(file, {
      events: part(makeEvents(40), 0, 40),
      growNodes: true,
    });
    scorer.advance();
    const t = graph.lastTime;
    const features = new Float32Array(2 * width).fill(0.5);
    scorer.append({ src: [0, 500], dst: [300, 15], time: [t + 1, t + 2], features });
    expect(graph.numNodes).toBe(501);
    if (mailbox !== null) expect(mailbox.numNodes).toBe(501);
    scorer.advance();
    scorer.append({ src: [500], dst: [300], time: [t + 3], features: features.slice(0, width) });
    scorer.advance();
    for (const score of scorer.score([500], [300, 15, 400])) expect(Number.isFinite(score)).toBe(true);
    if (mailbox !== null) expect(mailbox.getMemory([500]).time[0]).toBe(t + 2);
  });

  test('are refused unless they were asked for, and nothing is taken of the call', () => {
    const { scorer, graph, mailbox } = newScorer(tgnFile, { events: part(makeEvents(40), 0, 40) });
    const t = graph.lastTime + 1;
    const features = new Float32Array(2 * width);
    expect(() => scorer.append({ src: [0, numNodes], dst: [15, 15], time: [t, t], features })).toThrow(
      ValueError,
    );
    expect(() => scorer.score([0], [numNodes])).toThrow(/dst\[0\], got 20/);
    expect([graph.numEvents, graph.numNodes, mailbox!.numNodes]).toEqual([40, numNodes, numNodes]);
  });
});

describe('questions', () => {
  const asked = () => {
    const made = newScorer(tgnFile, { events: part(makeEvents(40), 0, 40) });
    made.scorer.advance(30);
    return made;
  };

  test('about a time that memory has passed are refused', () => {
    const { scorer, graph } = asked();
    const reached = graph.time[scorer.graph.numEvents - scorer.numWaiting - 1];
    expect(() => scorer.score([1], [15], reached)).toThrow(
      `a time after ${reached}, which memory has reached`,
    );
    expect(() => scorer.score([1], [15], 0)).toThrow(ValueError);
    expect(() => scorer.score([1], [15], Number.NaN)).toThrow(ValueError);
    expect(scorer.score([1], [15], reached + 0.5)).toHaveLength(1);
  });

  test('about now are about the moment after the last event', () => {
    const { scorer, graph } = asked();
    scorer.advance();
    const now = scorer.score([1], [15, 16]);
    expect([...scorer.score([1], [15, 16], graph.lastTime + 1e-9)]).toEqual([...now]);
    const large = makeEvents(40);
    large.time = large.time.map((t) => t + 1.6e9);
    const late = newScorer(tgnFile, { events: part(large, 0, 40) }).scorer;
    late.advance();
    expect(late.score([1], [15])).toHaveLength(1);
  });

  test('an empty stream is asked about nodes that nothing happened to', () => {
    const { scorer } = newScorer(tgnFile);
    expect(Number.isFinite(scorer.score([1], [15])[0])).toBe(true);
    expect([scorer.numWaiting, scorer.advance()]).toEqual([0, 0]);
  });

  test('with wrong ids or numbers of them are refused', () => {
    const { scorer } = asked();
    expect(() => scorer.score([1, 2], [15, 16, 17])).toThrow(ShapeError);
    for (const id of [-1, 1.5, Number.NaN, 2 ** 31])
      expect(() => scorer.score([id], [15])).toThrow(/src\[0\]/);
    expect(scorer.score([1], [])).toHaveLength(0);
  });

  test('latencies are counted, in order', () => {
    const { scorer } = asked();
    expect(scorer.latency()).toEqual({ count: 0, p50: 0, p90: 0, p99: 0, max: 0 });
    for (let i = 0; i < 50; i++) scorer.score([i % numUsers], [15]);
    expect(() => scorer.score([-1], [15])).toThrow(ValueError);
    const { count, p50, p90, p99, max } = scorer.latency();
    expect(count).toBe(50);
    expect(p50).toBeGreaterThan(0);
    expect([p90 >= p50, p99 >= p90, max >= p99]).toEqual([true, true, true]);
  });
});

test('the state may begin anywhere in the stream, not outside', () => {
  const { scorer, graph, mailbox } = newScorer(tgnFile, { events: part(makeEvents(20), 0, 20) });
  expect(scorer.numWaiting).toBe(20);
  const model = makeRig(makeEvents(10)).model;
  const sampler = new TemporalNeighborSampler(graph, { fanouts: [4] });
  const options = { graph, sampler, runtime: new TemporalRuntime({ model, mailbox }) };
  expect(new OnlineScorer(options).numWaiting).toBe(0);
  expect(() => new OnlineScorer({ ...options, stateRows: 21 })).toThrow(/stateRows/);
  expect(() => new OnlineScorer({ ...options, batchSize: 0 })).toThrow(/batchSize/);
});
