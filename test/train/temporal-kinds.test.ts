/**
 * The contract of every kind of temporal model: it trains, its loss falls where it learns, a run that was cut off ends with
 * the bytes of the whole one, evaluation gives what the end of training gave, online scores are those of evaluation, and no
 * score knows the future.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { TemporalGraph } from 'skein/graph';
import { openModel } from 'skein/predict';
import { TemporalNeighborSampler } from 'skein/sample';
import { EdgeBank, evaluateBaseline, OnlineScorer, TemporalNegatives } from 'skein/temporal';
import { EventTask, onlineScorer, openRun, type TemporalRunConfig } from 'skein/train';
import { ConfigError, Random, StateError } from 'skein/util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { temporalModelKinds } from '#internal/temporal/models/registry.js';
import { describeRun } from '#internal/train/describe-run.js';
import { assembleTemporal, type PlainAssembly } from '#internal/train/tasks/events/assemble.js';
import { evaluateEventRun } from '#internal/train/tasks/events/evaluate-event-run.js';
import { type OpenedStream, openStream } from '#internal/train/tasks/events/open-stream.js';
import { loadTemporalConfig } from '#internal/train/tasks/events/run-config.js';
import { isWide } from '../wide.js';
import { finalMetrics, jodieText, temporalRun, temporalState } from './temporal-files.js';
import { scratch } from './tiny.js';

const folder = scratch();
const events = `${folder()}.csv`;
writeFileSync(events, jodieText(360));
afterEach(() => vi.restoreAllMocks());

const small = 'dim_out: 8, dim_node: 6, snapshot_count: 12';
/** The sections of each kind. */
const models: Readonly<Record<string, string>> = {
  general: `
sampling: { layer: 1, neighbor: [4] }
memory: { type: node, dim_out: 8, dim_time: 6 }
gnn: { arch: transformer_attention, dim_time: 6, dim_out: 8, pair_depth: 8 }`,
  evolve_gcn: `model: { kind: evolve_gcn, ${small}, variant: H, backprop: 2 }`,
  gconv_gru: `model: { kind: gconv_gru, ${small} }`,
  gconv_lstm: `model: { kind: gconv_lstm, ${small}, backprop: 3 }`,
  tgcn: `model: { kind: tgcn, dim_out: 8, dim_node: 6, snapshot_duration: 20 }`,
  graph_mixer: 'model: { kind: graph_mixer, neighbors: 8, dim_out: 32, dim_time: 16, mixer_dropout: 0 }',
  edge_bank: 'model: { kind: edge_bank, window_share: 0.5 }',
  recency_popularity: 'model: recency_popularity',
  logistic_recency: 'model: { kind: logistic_recency }',
  local_global: 'model: local_global',
  pair_statistics: 'model: { kind: pair_statistics, hidden: [8], random_negatives: 5 }',
};
const usual = [
  ...['general', 'evolve_gcn', 'gconv_lstm', 'graph_mixer'],
  ...['edge_bank', 'logistic_recency', 'pair_statistics'],
];
const kinds = Object.keys(models).filter((kind) => isWide || usual.includes(kind));
/** Deep networks need smaller steps. */
const rate = (kind: string): number => (kind === 'graph_mixer' ? 0.001 : 0.02);
/** Kinds without state: nothing is replayed. */
const stateless = ['graph_mixer'];
const learns = (kind: string): boolean =>
  temporalModelKinds().find((one) => one.kind === kind)?.learns !== false;

interface Prepared {
  readonly file: string;
  readonly at: string;
}

/** Two epochs in batches of 20. */
function prepare(kind: string, more = ''): Prepared {
  const at = folder();
  const train = `train: { ${learns(kind) ? 'epoch: 2, ' : ''}batch_size: 20, lr: ${rate(kind)} }`;
  const own = `dataset: { path: ${events} }\nstorage: { model_dir: ${at} }\ntraining: { logs_per_epoch: 0 }`;
  writeFileSync(`${at}.yaml`, [models[kind], train, own, more].join('\n'));
  return { file: `${at}.yaml`, at };
}

/** Lets a run fail when so many batches are trained. */
async function cutOff({ file }: Prepared, batches: number, overrides: readonly string[]): Promise<void> {
  const train = EventTask.prototype.train;
  let count = 0;
  const spy = vi.spyOn(EventTask.prototype, 'train').mockImplementation(function (this: EventTask, batch) {
    if (count++ === batches) throw new Error('cut off');
    return train.call(this, batch);
  });
  await expect(temporalRun(file, overrides)).rejects.toThrow('cut off');
  spy.mockRestore();
}

/** Metrics that are not means over batches. */
const pooled = (all: object) => Object.entries(all).filter(([name]) => !name.endsWith('_batch'));

/** Scores of all events and their negatives after an epoch of training, by row, through validation and test. */
async function scoresOf(parts: PlainAssembly): Promise<Map<number, number[]>> {
  for await (const batch of parts.loaders.train.epoch(0)) parts.runtime.train(batch);
  const found = new Map<number, number[]>();
  for (const part of ['validation', 'test'] as const)
    for await (const batch of parts.loaders[part].epoch(0)) {
      const { positive, negative } = parts.runtime.evaluate(batch);
      for (const [i, row] of batch.eventRows.entries()) found.set(row, [positive[i], negative[i]]);
    }
  return found;
}

test('the suite has every built-in kind', () => {
  expect(Object.keys(models)).toEqual(temporalModelKinds().map(({ kind }) => kind));
});

describe.each(kinds)('%s', (kind) => {
  const often = '--training.checkpoint.interval_batches=3';

  test('cut off at any batch, a run ends with the bytes and metrics of the whole one', async () => {
    const [whole, given] = [prepare(kind), prepare(kind)];
    const { test: metrics, epochs } = await temporalRun(whole.file, [often]);
    expect(epochs).toBe(learns(kind) ? 2 : 1);
    expect(metrics['ap']).toBeGreaterThan(kind === 'graph_mixer' ? 0.4 : 0.5);
    await cutOff(given, learns(kind) ? 17 : 5, [often]);
    await cutOff(given, 4, [often, '--training.resume_training=true']);
    expect((await temporalRun(given.file, [often, '--training.resume_training=true'])).test).toEqual(metrics);
    expect(await temporalState(given.at)).toEqual(await temporalState(whole.at));
    expect(finalMetrics(given.at)).toEqual(finalMetrics(whole.at));
  });

  test('evaluation, description and answers of a finished run', async () => {
    const { file, at } = prepare(kind);
    const { test: metrics } = await temporalRun(file);
    const best = await openRun(at, { over: 'events', best: true });
    expect((await evaluateEventRun(best, 'test')).metrics).toEqual(metrics);
    expect((await evaluateEventRun(best, 'validation')).metrics['ap']).toBeGreaterThan(0.4);
    // From its own replayed state: the test again, after the validation events.
    const replayed = await evaluateEventRun(await openRun(at, { over: 'events' }), 'test');
    expect(replayed).toMatchObject({
      replayed: !stateless.includes(kind),
      metrics: { events: metrics['events'] },
    });
    const { model, plannedEpochs, finished } = await describeRun(at);
    expect(model).toContain(kind === 'general' ? 'attention' : kind);
    expect({ plannedEpochs, finished }).toEqual({ plannedEpochs: learns(kind) ? 2 : 1, finished: true });
    const predictor = await openModel(at);
    const ask = async () => [
      ...(await predictor.score([{ head: '3', tail: '9' }])),
      ...(await predictor.rank([{ head: '3' }], { k: 3 }))[0].map(({ score }) => score),
    ];
    const before = await ask();
    expect(await ask()).toEqual(before);
    const last = best.stream.graph.lastTime;
    await predictor.append(
      [1, 2, 30, 31].map((t) => ({ head: '3', tail: '7', time: last + t, features: [0.1, 0.2] })),
    );
    const after = await ask();
    expect(after.every(Number.isFinite)).toBe(true);
    // Of EdgeBank, all these pairs have met already.
    if (kind !== 'edge_bank') expect(after).not.toEqual(before);
    await predictor.close();
  });

  test('online scores are those of evaluation', async () => {
    const { file, at } = prepare(kind, 'evaluation: { batch_size: 1 }');
    await temporalRun(file);
    const [batchwise, online] = [
      await openRun(at, { over: 'events', best: true }),
      await openRun(at, { over: 'events', best: true }),
    ];
    const { graph, split } = batchwise.stream;
    const rows = split.validationEnd;
    const slice = (from: number, to: number) => ({
      src: graph.src.slice(from, to),
      dst: graph.dst.slice(from, to),
      time: graph.time.slice(from, to),
      features: (graph.features as Float32Array).slice(from * 2, to * 2),
    });
    const living = new TemporalGraph(slice(0, rows), { numNodes: graph.numNodes });
    const { needs, runtime } = online.parts;
    const neighbors = needs.neighbors ?? { fanouts: [], strategy: 'identity' as const };
    const scorer = new OnlineScorer({
      ...{ graph: living, runtime, pairDepth: needs.pairDepth ?? 0 },
      sampler: new TemporalNeighborSampler(living, { ...neighbors, seed: 1 }),
    });
    let count = 0;
    for await (const batch of batchwise.parts.loaders.test.epoch(0)) {
      const { positive } = batchwise.parts.runtime.evaluate(batch);
      const [first] = batch.eventRows;
      // One moment: its events do not see each other, whether they are in the graph or not.
      scorer.append(slice(first, first + positive.length));
      expect(scorer.score(batch.src, batch.dst, batch.times)).toEqual(positive);
      scorer.advance();
      count += positive.length;
    }
    expect(count).toBe(graph.numEvents - rows);
  });

  if (kind !== 'general')
    test('the size of batches changes no score', async () => {
      const { file, at } = prepare(kind);
      const { test: metrics } = await temporalRun(file);
      for (const size of [1, 7]) {
        const overrides = [`--evaluation.batch_size=${size}`];
        const opened = await openRun(at, { over: 'events', best: true, overrides });
        expect(pooled((await evaluateEventRun(opened, 'test')).metrics)).toEqual(pooled(metrics));
      }
    });

  if (kind !== 'general')
    test('events that are taken in at once leave the state of those that come one by one', async () => {
      const { file, at } = prepare(kind);
      await temporalRun(file);
      const [one, other] = await Promise.all([1, 2].map(() => openRun(at, { over: 'events' })));
      const [atOnce, inTurn] = [onlineScorer(one), onlineScorer(other)];
      const time = Array.from({ length: 40 }, (_, i) => one.stream.graph.lastTime + i * i);
      const event = (i: number) => ({ src: [i % 5], dst: [16 + (i % 7)], time: [time[i]], features: [0, i] });
      const all = time.map((_, i) => event(i));
      atOnce.append({
        src: all.flatMap(({ src }) => src),
        dst: all.flatMap(({ dst }) => dst),
        ...{ time, features: Float32Array.from(all.flatMap(({ features }) => features)) },
      });
      atOnce.advance();
      for (const { features, ...rest } of all) {
        inTurn.append({ ...rest, features: Float32Array.from(features) });
        inTurn.advance();
        inTurn.score([0], [16, 17]);
      }
      const ask = [
        Int32Array.from({ length: 20 }, (_, i) => i % 9),
        Int32Array.from({ length: 20 }, (_, i) => 16 + (i % 9)),
      ];
      const later = Float64Array.from({ length: 20 }, (_, i) => time[39] + 1 + 9 * i);
      expect(atOnce.score(ask[0], ask[1], later)).toEqual(inTurn.score(ask[0], ask[1], later));
    });

  test('events of a later time, and others of the same, change no score', async () => {
    const { config } = loadTemporalConfig(prepare(kind).file);
    const stream = await openStream(config);
    const { graph, split } = stream;
    for (const at of [split.trainEnd + 20, split.validationEnd + 15]) {
      const random = new Random(at);
      const dst = graph.dst.map((node, row) => (row < at ? node : stream.data.dstPool[random.nextInt(10)]));
      const { numNodes, directed } = graph;
      const features = (graph.features as Float32Array).map((value, i) => (i < 2 * at ? value : -value));
      const changed = new TemporalGraph(
        { src: graph.src, dst, time: graph.time, features },
        { numNodes, directed },
      );
      const kept = new Uint8Array(graph.numEvents).fill(1);
      kept.set(split.trainMask);
      const other = { ...stream, graph: changed, trainGraph: changed.where(kept) } as OpenedStream;
      const [own, others] = await Promise.all(
        [stream, other].map((one) => scoresOf(assembleTemporal(config as TemporalRunConfig, one))),
      );
      expect(others.size).toBe(own.size);
      for (const [row, scores] of own) if (row < at) expect([row, others.get(row)]).toEqual([row, scores]);
      expect([...own].some(([row, scores]) => row > at && `${others.get(row)}` !== `${scores}`)).toBe(true);
    }
  });

  if (learns(kind))
    test('the loss falls', async () => {
      const { config } = loadTemporalConfig(prepare(kind).file);
      const stream = await openStream(config);
      const parts = assembleTemporal(config, stream);
      const losses: number[] = [];
      for (let epoch = 0; epoch < 18; epoch++) {
        parts.state?.reset();
        let sum = 0;
        for await (const batch of parts.loaders.train.epoch(epoch))
          sum += parts.runtime.train(batch).loss * batch.eventRows.length;
        losses.push(sum / stream.rows.train.length);
      }
      expect(losses[17]).toBeLessThan(0.9 * losses[0]);
    });
});

test('a baseline’s run gives what evaluateBaseline gives', async () => {
  const { file, at } = prepare('edge_bank', 'evaluation: { negatives: historical, amount: 3 }');
  const { test: metrics } = await temporalRun(file, ['--dataset.new_node_share=0', '--model.window_share=0']);
  const { graph, split, data } = (await openRun(at, { over: 'events' })).stream;
  const { trainEnd, validationEnd, isNew } = split;
  const negatives = new TemporalNegatives(graph, {
    ...{ strategy: 'historical', amount: 3, seed: 1, trainEnd, pool: data.dstPool },
  });
  const expected = evaluateBaseline(new EdgeBank(), graph, { negatives, trainEnd, validationEnd, isNew });
  expect(pooled(metrics)).toEqual(pooled(expected));
});

test('TGL’s sections with another kind give warnings, and a finished run continues scoring', async () => {
  const { file, at } = prepare('general');
  const overrides = ['--model.kind=edge_bank', '--train.epoch=7'];
  const { config, warnings } = loadTemporalConfig(file, overrides);
  expect(warnings).toEqual([
    ...['sampling', 'memory', 'gnn'].map((name) => `${name}: has no effect, model.kind is edge_bank.`),
    'train.epoch: has no effect, edge_bank makes one pass over the training events.',
  ]);
  expect(config.model).toMatchObject({ kind: 'edge_bank', options: { window: 0, window_share: 0 } });
  expect((await temporalRun(file, overrides)).epochs).toBe(1);
  expect(loadTemporalConfig(`${at}/full_config.yaml`).warnings).toEqual([]);
  const scorer = onlineScorer(await openRun(at, { over: 'events' }));
  expect(Array.from(scorer.score([0, 0], [16, 20])).every((score) => score === 0 || score === 1)).toBe(true);
});

describe('rejected before anything is written:', () => {
  const refused = async (kind: string, overrides: readonly string[], message: RegExp): Promise<void> => {
    const { file, at } = prepare(kind);
    const failure = await temporalRun(file, overrides).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect((failure as Error).message).toMatch(message);
    expect(existsSync(at)).toBe(false);
  };
  test.each<[string, string, string[], RegExp]>([
    [
      'an unknown kind',
      'tgcn',
      ['--model.kind=tgnc'],
      /expected one of general, .* for model\.kind, got "tgnc"\. Did you mean tgcn\?/,
    ],
    ['an unknown kind', 'tgcn', ['--model.kind=zzzzzz'], /--plugin, or with registerTemporalModel/],
    ['an unknown option', 'tgcn', ['--model.dim_uot=3'], /model\.dim_uot. Did you mean model\.dim_out\?/],
    [
      'an option of another type',
      'tgcn',
      ['--model.dim_out=wide'],
      /a whole number of at least 1 for model\.dim_out/,
    ],
    ['an option of another kind', 'tgcn', ['--model.terms=3'], /got model\.terms/],
    [
      'options of general',
      'general',
      ['--model.dim_out=3'],
      /got model\.dim_out\. Move it there, or set another kind/,
    ],
    ['a wrong key of train', 'tgcn', ['--train.epohc=3'], /Did you mean train\.epoch\?/],
    [
      'labels of a baseline',
      'edge_bank',
      ['--labels.epochs=3'],
      /0 for model\.kind edge_bank.*labels\.epochs, got 3/,
    ],
    [
      'workers',
      'gconv_gru',
      ['--distributed={}'],
      /a single process for model\.kind gconv_gru, got "run -n" or a section distributed/,
    ],
    ['too few nodes', 'evolve_gcn', ['--model.dim_out=64'], /at most 26, the number of nodes, .* got 64/],
    ['two windows', 'edge_bank', ['--model.window=3'], /model\.window or model\.window_share, got both/],
  ])('%s', async (_, kind, overrides, message) => refused(kind, overrides, message));
});

test('another model is refused when a run is resumed', async () => {
  const { file } = prepare('tgcn');
  await temporalRun(file, ['--train.epoch=1']);
  const again = temporalRun(file, ['--training.resume_training=true', '--model.dim_out=4']);
  await expect(again).rejects.toThrow(StateError);
  await expect(again).rejects.toThrow(/model that was trained, got a different one: model\.dim_out/);
});

test('labels learn from the embeddings of a model over snapshots', async () => {
  const { file } = prepare('gconv_gru');
  const { test: metrics } = await temporalRun(file, ['--labels.epochs=2', '--train.epoch=1']);
  expect(metrics['ap']).toBeGreaterThan(0);
});
