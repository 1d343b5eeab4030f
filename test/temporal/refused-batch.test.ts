/** A batch that is refused, for whatever reason, leaves memory, mail, version and parameters as they were. */
import { TemporalGraph } from 'skein/graph';
import { TemporalNeighborSampler } from 'skein/sample';
import { type TemporalBatch, TemporalLoader } from 'skein/temporal';
import { mul, type Tensor } from 'skein/tensor';
import { SkeinError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { collect, makeEvents, makeRig, numNodes, type Rig, tgnFile } from './stream.js';

/** A rig that has trained on two batches, and the third. */
async function warmed(file = tgnFile): Promise<{ rig: Rig; batch: TemporalBatch }> {
  const rig = makeRig(makeEvents(60), { file });
  let step = 0;
  for await (const batch of rig.loader.epoch(0)) {
    if (step++ === 2) return { rig, batch };
    rig.runtime.train(batch);
  }
  throw new Error('the stream is too short');
}

const everything = ({ mailbox, model }: Rig) => ({
  state: mailbox?.snapshot() ?? null,
  parameters: model.parameters().map((p) => p.dataSync().slice()),
});

const ways = ['train', 'evaluate', 'observe'] as const;

/** Calls one way with a batch; expects an error of ours and nothing changed. */
function refuses(rig: Rig, batch: TemporalBatch, way: (typeof ways)[number], message: RegExp): void {
  const before = everything(rig);
  let error: unknown;
  try {
    rig.runtime[way](batch);
  } catch (caught) {
    error = caught;
  }
  expect(error).toBeInstanceOf(SkeinError);
  expect((error as Error).message).toMatch(message);
  expect(everything(rig)).toEqual(before);
}

describe.each(ways)('%s', (way) => {
  test('memory that is not a number', async () => {
    const { rig, batch } = await warmed();
    const nan = mul(batch.state!.mail, Number.NaN);
    refuses(rig, { ...batch, state: { ...batch.state!, mail: nan } }, way, /finite/);
  });

  test('events that the stream does not have', async () => {
    const { rig, batch } = await warmed();
    const eventRows = batch.eventRows.slice();
    eventRows[3] = 60;
    refuses(rig, { ...batch, eventRows }, way, /events below 60 for mailEvents\[\d+\], got 60/);
  });

  test('nodes that the mailbox does not have', async () => {
    const { rig, batch } = await warmed();
    for (const id of [-1, numNodes]) {
      const src = batch.src.slice();
      src[2] = id;
      refuses(rig, { ...batch, src }, way, /nodes from 0 to 19/);
    }
  });

  test('times before those of memory, and times that are not finite', async () => {
    const { rig, batch } = await warmed();
    refuses(rig, { ...batch, times: batch.times.map(() => -1) }, way, /a time of at least/);
    refuses(rig, { ...batch, times: batch.times.map(() => Number.NaN) }, way, /finite time/);
  });
});

test.each(['train', 'evaluate'] as const)(
  '%s: scores that are not numbers, of a model with sound memory',
  async (way) => {
    const { rig, batch } = await warmed();
    const score = rig.model.score.bind(rig.model);
    const spoilt = (which: 'positive' | 'negative') => {
      rig.model.score = (output, given) => {
        const scores = score(output, given);
        return { ...scores, [which]: mul(scores[which] as Tensor, Number.NaN) };
      };
    };
    spoilt('positive');
    refuses(rig, batch, way, /finite scores for the positive score 0, got NaN/);
    spoilt('negative');
    refuses(rig, batch, way, /finite scores for the negative score 0, got NaN/);
    rig.model.score = score;
    rig.runtime[way](batch);
  },
);

test('without memory parameters are left alone as well', async () => {
  const { rig, batch } = await warmed(`
sampling: [{ layer: 1, neighbor: [3], strategy: recent }]
memory: [{ type: none }]
gnn: [{ arch: transformer_attention, layer: 1, att_head: 2, dim_time: 6, dim_out: 8 }]
train: [{ epoch: 1, batch_size: 10 }]`);
  const features = batch.edgeFeatures!.slice().fill(Number.NaN);
  refuses(rig, { ...batch, edgeFeatures: features }, 'train', /finite scores/);
});

test('events of the second epoch without a reset', async () => {
  const rig = makeRig(makeEvents(60));
  for await (const batch of rig.loader.epoch(0)) rig.runtime.evaluate(batch);
  const [first] = await collect(rig.loader, 1);
  refuses(rig, first, 'evaluate', /reset\(\) before another pass/);
  rig.mailbox!.reset();
  const [again] = await collect(rig.loader, 1);
  rig.runtime.evaluate(again);
});

test('a mailbox that is too small for the stream is an error when the batch is made', async () => {
  const rig = makeRig(makeEvents(30));
  const graph = new TemporalGraph({ src: [0], dst: [numNodes + 5], time: [1] });
  const sampler = new TemporalNeighborSampler(graph, { fanouts: [4] });
  const loader = new TemporalLoader(graph, { sampler, mailbox: rig.mailbox, batchSize: 5 });
  await expect(collect(loader)).rejects.toThrow(/nodes from 0 to 19/);
  expect(rig.mailbox!.version).toBe(0);
});
