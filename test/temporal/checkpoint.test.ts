/** Checkpoints: scores continue with the same bits, and a missing array is an error. */
import { Adam } from 'skein/nn';
import { GeneralModel, TemporalRuntime } from 'skein/temporal';
import { manualSeed, randomState, setRandomState } from 'skein/tensor';
import { describe, expect, test } from 'vitest';
import type { MailBoxSnapshot } from '#internal/temporal/mailbox/snapshot.js';
import { makeEvents, makeRig, type Rig, tgnFile } from './stream.js';

const dropout = 'train: [{ epoch: 1, batch_size: 10, dropout: 0.3, att_dropout: 0.3 }]';
const families = {
  tgn: tgnFile.replace(/train: .*/, dropout),
  apan: `
sampling: [{ layer: 1, neighbor: [4], strategy: recent }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: transformer, mailbox_size: 3, attention_head: 2, deliver_to: neighbors }]
gnn: [{ arch: identity }]
${dropout}`,
  jodie: `
sampling: [{ layer: 0, strategy: identity }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: rnn, mailbox_size: 1 }]
gnn: [{ arch: identity, time_transform: JODIE }]
${dropout}`,
  'mean of mails': tgnFile.replace('mailbox_size: 1', 'mailbox_size: 1, mail_combine: mean'),
  tgat: `
sampling: [{ layer: 2, neighbor: [3, 3], strategy: uniform }]
memory: [{ type: none }]
gnn: [{ arch: transformer_attention, layer: 2, att_head: 2, dim_time: 6, dim_out: 8 }]
${dropout}`,
};

type WithOptimizer = Omit<Rig, 'runtime'> & { readonly optimizer: Adam; readonly runtime: TemporalRuntime };

function newTraining(file: string): WithOptimizer {
  const rig = makeRig(makeEvents(80), { file });
  const optimizer = new Adam(rig.model.parameters(), { lr: 0.01 });
  return {
    ...rig,
    optimizer,
    runtime: new TemporalRuntime({ model: rig.model, mailbox: rig.mailbox, optimizer }),
  };
}

/** Trains on batches `from` … `to` of epoch 0; gives every score. */
async function trainOn({ loader, runtime }: WithOptimizer, from: number, to: number): Promise<number[]> {
  const scores: number[] = [];
  let step = from;
  for await (const batch of loader.epoch(0, from)) {
    if (step++ === to) break;
    const { loss, positive, negative } = runtime.train(batch);
    scores.push(loss, ...positive, ...negative);
  }
  return scores;
}

const save = ({ model, optimizer, mailbox }: WithOptimizer) => ({
  model: Object.fromEntries(Object.entries(model.stateDict()).map(([name, t]) => [name, t.clone()])),
  optimizer: optimizer.stateDict(),
  mailbox: mailbox?.snapshot() ?? null,
  random: randomState(),
});

function restore(into: WithOptimizer, saved: ReturnType<typeof save>): void {
  into.model.loadStateDict(saved.model);
  into.optimizer.loadStateDict(saved.optimizer);
  if (saved.mailbox !== null) into.mailbox?.restore(saved.mailbox);
  setRandomState(saved.random);
}

describe.each(Object.entries(families))('%s', (_name, file) => {
  test('check 18: stopped amid an epoch and restored, the next scores have the same bits', async () => {
    const whole = newTraining(file);
    await trainOn(whole, 0, 3);
    const saved = save(whole);
    const wanted = await trainOn(whole, 3, 8);
    expect(wanted.length).toBeGreaterThan(80);
    const other = newTraining(file);
    manualSeed(99);
    restore(other, saved);
    expect(await trainOn(other, 3, 8)).toEqual(wanted);
    expect(other.mailbox?.snapshot()).toEqual(whole.mailbox?.snapshot());
  });
});

test('check 18: without the mail, the clock or the random numbers the next scores are others', async () => {
  const file = families.tgn;
  const whole = newTraining(file);
  await trainOn(whole, 0, 3);
  const saved = save(whole);
  const wanted = await trainOn(whole, 3, 8);
  const after = async (
    change: (arrays: Record<string, MailBoxSnapshot['arrays'][string]>) => void,
    random = true,
  ) => {
    const arrays = Object.fromEntries(
      Object.entries(saved.mailbox!.arrays).map(([name, array]) => [name, array.slice()]),
    ) as Record<string, MailBoxSnapshot['arrays'][string]>;
    change(arrays);
    const other = newTraining(file);
    restore(other, { ...saved, mailbox: { ...saved.mailbox!, arrays } });
    if (!random) manualSeed(99);
    return trainOn(other, 3, 8);
  };
  expect(await after(() => undefined)).toEqual(wanted);
  for (const name of ['memory', 'memoryTime', 'mail', 'mailEvents', 'count'] as const)
    expect(await after((arrays) => arrays[name].fill(name === 'mailEvents' ? -1 : 0)), name).not.toEqual(
      wanted,
    );
  expect(await after(() => undefined, false), 'random').not.toEqual(wanted);
});

test('check 18: a snapshot that lacks the mail is rejected with an error that names it, and nothing is restored', async () => {
  const trained = newTraining(families.tgn);
  await trainOn(trained, 0, 3);
  const snapshot = trained.mailbox!.snapshot();
  await trainOn(trained, 3, 5);
  const before = trained.mailbox!.snapshot();
  for (const name of Object.keys(snapshot.arrays)) {
    const { [name]: _left, ...arrays } = snapshot.arrays;
    // Changes that wait may be absent only together.
    expect(() => trained.mailbox!.restore({ ...snapshot, arrays })).toThrow(new RegExp(`array .*${name}`));
    expect(trained.mailbox!.snapshot()).toEqual(before);
  }
});

test('a model file read again has the parameters of a saved one', () => {
  const { model } = newTraining(families.tgn);
  const other = GeneralModel.fromYaml(families.tgn, { dimEdge: 3 });
  other.loadStateDict(model.stateDict());
  expect(other.parameters().map((p) => p.toArray())).toEqual(model.parameters().map((p) => p.toArray()));
});
