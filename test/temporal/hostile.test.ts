/** Wrong arrays in memory that kernels read: errors that name the cause, no partial change, no crash. */
import { TemporalGraph } from 'skein/graph';
import { TemporalNeighborSampler } from 'skein/sample';
import {
  GeneralModel,
  OnlineScorer,
  SharedMailBox,
  TemporalNegatives,
  TemporalRuntime,
} from 'skein/temporal';
import { backward, randn, sum, zeros } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { parseTemporalConfig } from '#internal/temporal/config/parse.js';
import { temporalAttention } from '#internal/temporal/layers/attention-op.js';

const { config } = parseTemporalConfig({
  sampling: { layer: 1, neighbor: [2] },
  memory: { type: 'node', dim_out: 4, dim_time: 4 },
  gnn: { arch: 'transformer_attention', layer: 1, att_head: 1, dim_time: 4, dim_out: 4 },
});
const mailboxOf = (more: object = {}): SharedMailBox =>
  new SharedMailBox({ numNodes: 6, memoryParam: config.memory, ...more });

describe('SharedMailBox', () => {
  it('stays as it was when there is no room to grow', () => {
    const mailbox = mailboxOf();
    expect(() => mailbox.grow(2 ** 31 - 2)).toThrow('expected memory and mail that fit in memory');
    expect(mailbox.numNodes).toBe(6);
    expect(() => mailbox.read(Int32Array.of(1e9))).toThrow('ids');
    expect(() => mailbox.read([1] as never)).toThrow('an Int32Array');
  });

  it.each([
    ['cursor', 5e8],
    ['count', -5],
    ['mailEvents', -2],
    ['memory', Number.NaN],
    ['memoryTime', Number.NaN],
    ['mail', Number.POSITIVE_INFINITY],
  ])('refuses a snapshot whose %s is %s', (name, value) => {
    const mailbox = mailboxOf();
    const snapshot = mailbox.snapshot();
    (snapshot.arrays[name] as Float64Array)[0] = value;
    expect(() => mailbox.restore(snapshot)).toThrow(`${name}[0] of the snapshot`);
    expect(mailbox.version).toBe(0);
  });

  it('refuses a snapshot with a wrong node in its queue', () => {
    const mailbox = mailboxOf();
    mailbox.setMemoryAsync(Int32Array.of(1), zeros([1, 4]), Float64Array.of(1));
    const snapshot = mailbox.snapshot();
    (snapshot.arrays['pending.nodes'] as Int32Array)[0] = 5e8;
    expect(() => mailbox.restore(snapshot)).toThrow('pending.nodes[0]');
  });
});

describe('arrays that are changed or given away', () => {
  const graph = new TemporalGraph({ src: [0, 1, 0], dst: [1, 2, 2], time: [1, 2, 3] });

  it('weights are copied', async () => {
    const weights = Float32Array.of(1, 1, 1);
    const sampler = new TemporalNeighborSampler(graph, { fanouts: [1], strategy: 'weighted', weights });
    const sampling = sampler.sampleAsync({ nodes: [2], times: [9] });
    structuredClone(weights.buffer, { transfer: [weights.buffer] });
    expect((await sampling).hops[0].numEdges).toBe(1);
  });

  it('features that are gone in backward are missed', () => {
    const features = new Float32Array(6);
    const h = randn([2, 3]);
    const query = randn([1, 1, 3 + 2 + 2 + 1], { requiresGrad: true });
    const y = temporalAttention(
      {
        indptr: Int32Array.of(0, 1),
        neighbors: Int32Array.of(1),
        eventRows: Int32Array.of(2),
        spans: Float32Array.of(1),
        features,
        featureWidth: 2,
      },
      query,
      h,
      randn([2]),
      randn([2]),
    );
    structuredClone(features.buffer, { transfer: [features.buffer] });
    expect(() => backward(sum(y))).toThrow('given away');
  });

  it('times beyond what spans can hold are refused', () => {
    const sampler = new TemporalNeighborSampler(graph, { fanouts: [1] });
    expect(() => sampler.sample({ nodes: [2], times: [1e300] })).toThrow('seeds.times[0]');
  });
});

it('an event whose node finds no room in the mailbox is not in the stream', () => {
  const graph = new TemporalGraph({ src: [0], dst: [1], time: [1] }, { numNodes: 6, growNodes: true });
  const mailbox = mailboxOf();
  const scorer = new OnlineScorer({
    graph,
    sampler: new TemporalNeighborSampler(graph, { fanouts: [2] }),
    runtime: new TemporalRuntime({ model: new GeneralModel(config), mailbox }),
  });
  expect(() => scorer.append({ src: [2 ** 31 - 10], dst: [1], time: [2] })).toThrow('fit in memory');
  expect([graph.numEvents, graph.numNodes, mailbox.numNodes]).toEqual([1, 6, 6]);
  scorer.append({ src: [7], dst: [1], time: [2] });
  expect([graph.numNodes, mailbox.numNodes]).toEqual([8, 8]);
});

it('more negatives than there are nodes to draw are refused at once', () => {
  const graph = new TemporalGraph({ src: [0, 0], dst: [1, 2], time: [1, 2] });
  expect(() => new TemporalNegatives(graph, { strategy: 'historical', amount: 2 })).toThrow(
    'fewer than the 2 nodes of the pool',
  );
});
