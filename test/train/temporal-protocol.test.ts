/**
 * Evaluation by the rules of the Temporal Graph Benchmark: the metric that decides, negatives, cadences, and ranks without
 * scores of negatives. Expected values come from a direct computation over the events.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openRun } from 'skein/train';
import { ConfigError, Random } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { temporalModelKinds } from '#internal/temporal/models/registry.js';
import { packRun } from '#internal/train/pack-run.js';
import { assembleTemporal } from '#internal/train/tasks/events/assemble.js';
import { evaluateEventRun } from '#internal/train/tasks/events/evaluate-event-run.js';
import { openStream } from '#internal/train/tasks/events/open-stream.js';
import { loadTemporalConfig } from '#internal/train/tasks/events/run-config.js';
import { temporalRun } from './temporal-files.js';
import { scratch } from './tiny.js';

const folder = scratch();

type Event = readonly [number, number, number];

/** Users with favourites among 12 items; some meet two items at one time, and items 3 and 7 never occur. */
function makeEvents(count: number): Event[] {
  const random = new Random(5);
  const events: Event[] = [];
  let time = 0;
  while (events.length < count) {
    const user = random.nextInt(15);
    const draw = (): number => {
      const item = random.nextFloat() < 0.6 ? (user * 5) % 12 : random.nextInt(12);
      return item === 3 || item === 7 ? 0 : item;
    };
    time += random.nextInt(3);
    const first = draw();
    events.push([user, first, time]);
    const second = draw();
    if (random.nextFloat() < 0.1 && second !== first) events.push([user, second, time]);
  }
  return events.slice(0, count);
}

const events = makeEvents(700);

function writeEvents(list: readonly Event[]): string {
  const path = `${folder()}.csv`;
  writeFileSync(path, `src,dst,time\n${list.map(([u, v, t]) => `u${u},v${v},${t}`).join('\n')}\n`);
  return path;
}

const file = writeEvents(events);

function protocol(model: string, path = file): string {
  const at = folder();
  const stream = `dataset: { path: ${path}, node_types: [user, item] }`;
  const run = `storage: { model_dir: ${at} }\ntraining: { logs_per_epoch: 0 }`;
  writeFileSync(`${at}.yaml`, `protocol: tgb\n${stream}\n${model}\n${run}\n`);
  return `${at}.yaml`;
}

/** A number as a pickle has it. */
function number(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return `J${bytes.toString('latin1')}`;
}

/** Mean reciprocal rank of a split by a score of (user, item, visible events, time). */
function expectedMrr(
  split: 'validation' | 'test',
  cadence: 'moment' | 'batch',
  score: (user: number, item: number, past: readonly Event[], time: number) => number,
  batch = 200,
  scoreEvery = 1,
): number {
  const times = events.map(([, , t]) => t);
  const quantile = (q: number): number => {
    const at = (times.length - 1) * q;
    const low = Math.floor(at);
    return times[low] + (at - low) * (times[Math.min(low + 1, times.length - 1)] - times[low]);
  };
  const trainEnd = times.filter((t) => t <= quantile(0.7)).length;
  const validationEnd = times.filter((t) => t <= quantile(0.85)).length;
  const [begin, end] = split === 'test' ? [validationEnd, events.length] : [trainEnd, validationEnd];
  const items = [...new Set(events.map(([, v]) => v))];
  let [sum, count] = [0, 0];
  for (let row = begin; row < end; row++) {
    if (Math.floor((row - begin) / batch) % scoreEvery !== 0) continue;
    count++;
    const [user, item, time] = events[row];
    const from = cadence === 'batch' ? row - ((row - begin) % batch) : 0;
    const past = cadence === 'batch' ? events.slice(0, from) : events.filter(([, , t]) => t < time);
    const positives = new Set(
      events.slice(begin, end).flatMap(([u, v, t]) => (u === user && t === time ? [v] : [])),
    );
    const own = score(user, item, past, time);
    const others = items.filter((v) => !positives.has(v)).map((v) => score(user, v, past, time));
    const above = others.filter((s) => s > own).length;
    const notBelow = others.filter((s) => s >= own).length;
    sum += 1 / (1 + (above + notBelow) / 2);
  }
  return sum / count;
}

const met = (user: number, item: number, past: readonly Event[]): number =>
  past.some(([u, v]) => u === user && v === item) ? 1 : 0;

describe('protocol: tgb', () => {
  test.each([
    ['moment', 200],
    ['batch', 200],
    ['batch', 7],
  ] as const)('ranks of EdgeBank with cadence %s and batches of %i', async (cadence, size) => {
    const { validation, test: found } = await temporalRun(protocol('model: edge_bank'), [
      `evaluation.cadence=${cadence}`,
      `evaluation.batch_size=${size}`,
    ]);
    expect(validation['mrr']).toBeCloseTo(expectedMrr('validation', cadence, met, size), 12);
    expect(found['mrr']).toBeCloseTo(expectedMrr('test', cadence, met, size), 12);
    expect(found).not.toHaveProperty('ap');
    expect(found).not.toHaveProperty('new_node_mrr');
  });

  test.each(['edge_bank', '{ kind: edge_bank }\nevaluation: { pooled: true }'])(
    'events of one in three batches are ranked after all earlier events: %s',
    async (model) => {
      const { test: found } = await temporalRun(protocol(`model: ${model}`), [
        'evaluation.cadence=batch',
        'evaluation.batch_size=7',
        'evaluation.score_every=3',
      ]);
      expect(found['mrr']).toBeCloseTo(expectedMrr('test', 'batch', met, 7, 3), 12);
      expect(found['mrr']).not.toBeCloseTo(expectedMrr('test', 'batch', met, 7), 4);
    },
  );

  test('ranks by local, then global recency', async () => {
    const latest = (past: readonly Event[], fits: (event: Event) => boolean): number =>
      past.reduce((last, event) => (fits(event) ? Math.max(last, event[2]) : last), Number.NEGATIVE_INFINITY);
    const recency = (user: number, item: number, past: readonly Event[]): number => {
      const local = latest(past, ([u, v]) => u === user && v === item);
      if (local > Number.NEGATIVE_INFINITY) return 1e6 + local;
      return latest(past, ([, v]) => v === item);
    };
    const { test: found } = await temporalRun(protocol('model: local_global'));
    expect(found['mrr']).toBeCloseTo(expectedMrr('test', 'moment', recency), 12);
  });

  test('both cadences in one evaluation are those of one each', async () => {
    const config = protocol('model: local_global');
    const { test: both } = await temporalRun(config, ['evaluation.cadence=both']);
    const found = async (cadence: string) => {
      const at = folder();
      const overrides = [`evaluation.cadence=${cadence}`, `storage.model_dir=${at}`];
      return (await temporalRun(config, overrides)).test['mrr'];
    };
    expect(both['mrr']).toBe(await found('moment'));
    expect(both['frozen_mrr']).toBe(await found('batch'));
    expect(both['frozen_mrr']).not.toBe(both['mrr']);
  });

  const ranking = [
    ...temporalModelKinds().flatMap(({ learns, kind }) => (learns === false ? [kind] : [])),
    '{ kind: pair_statistics, hidden: [8], random_negatives: 5 }',
    '{ kind: gconv_gru, dim_out: 8, dim_node: 6, snapshot_count: 12 }',
  ];
  test.each(ranking)('%s: ranks without scores of negatives are the same', async (kind) => {
    const config = protocol(`model: ${kind}`);
    const overrides = ['evaluation.cadence=both', 'evaluation.batch_size=30'];
    const { test: ranked } = await temporalRun(config, overrides);
    const at = folder();
    const slow = await temporalRun(config, [
      ...overrides,
      'evaluation.pooled=true',
      `storage.model_dir=${at}`,
    ]);
    expect(ranked).toEqual(Object.fromEntries(Object.keys(ranked).map((name) => [name, slow.test[name]])));
    expect(slow.test).toHaveProperty('ap');
  });

  test('negatives from files rank as listed', async () => {
    const { config } = loadTemporalConfig(protocol('model: edge_bank'));
    const { graph, split, data } = await openStream(config);
    const listed = folder();
    mkdirSync(listed);
    for (const [name, from, to] of [
      ['val', split.trainEnd, split.validationEnd],
      ['test', split.validationEnd, graph.numEvents],
    ] as const) {
      const entries = Array.from({ length: to - from }, (_, i) => {
        const [u, v, t] = [graph.src[from + i], graph.dst[from + i], graph.time[from + i]];
        const positives = events.filter(([a, , c]) => a === events[from + i][0] && c === t).map((e) => e[1]);
        const names = data.dstPool.filter((node) => !positives.some((p) => data.names?.[node] === `v${p}`));
        return `${number(u)}${number(v)}${number(t)}\x87](${Array.from(names, number).join('')}e`;
      });
      const text = `\x80\x02}(${entries.join('')}u.`;
      writeFileSync(join(listed, `tgbl-x_${name}_ns.pkl`), Buffer.from(text, 'latin1'));
    }
    const file = ['evaluation.negatives=file', `evaluation.negatives_path=${listed}`];
    const { test: found } = await temporalRun(protocol('model: edge_bank'), file);
    expect(found['mrr']).toBeCloseTo(expectedMrr('test', 'moment', met), 12);
    const run = folder();
    await temporalRun(protocol('model: pair_statistics'), [...file, `storage.model_dir=${run}`]);
    const packed = `${run}.tgz`;
    await packRun(run, packed);
    await (await openRun(packed)).close();
    expect(() => loadTemporalConfig(protocol('model: edge_bank'), file.slice(0, 1))).toThrow(
      /expected evaluation\.negatives file and evaluation\.negatives_path together, got file and no path/,
    );
    rmSync(join(listed, 'tgbl-x_val_ns.pkl'));
    await expect(temporalRun(protocol('model: edge_bank'), file)).rejects.toThrow(
      /expected one file \*_val_ns\.pkl in .*, got none/,
    );
  });

  test('sets defaults, rejects other splits, and survives in the resolved configuration', async () => {
    const config = protocol('model: edge_bank');
    const { dataset, evaluation } = loadTemporalConfig(config).config;
    expect(dataset).toMatchObject({ train_share: 0.7, validation_share: 0.15, new_node_share: 0 });
    expect(evaluation).toMatchObject({ negatives: 'tgb', metric: 'mrr', batch_size: 200, cadence: 'moment' });
    const random = loadTemporalConfig(config, ['evaluation.negatives=random', 'evaluation.metric=ap']);
    expect(random.config.evaluation).toMatchObject({ negatives: 'random', metric: 'ap' });
    expect(() => loadTemporalConfig(config, ['dataset.new_node_share=0.1'])).toThrow(
      /expected 0 for dataset\.new_node_share with protocol tgb, got 0\.1/,
    );
    const { directory } = await temporalRun(config);
    expect(loadTemporalConfig(join(directory, 'full_config.yaml')).config.protocol).toBe('tgb');
    const run = await openRun(directory, { over: 'events', best: true });
    expect((await evaluateEventRun(run, 'test')).metrics['mrr']).toBeCloseTo(
      expectedMrr('test', 'moment', met),
      12,
    );
  });
});

const tgn = `
sampling: { layer: 1, neighbor: [4] }
memory: { type: node, dim_out: 8, dim_time: 6 }
gnn: { arch: transformer_attention, dim_time: 6, dim_out: 8, pair_depth: 8 }
train: { epoch: 3, batch_size: 30, lr: 0.02 }`;

describe('the metric that decides', () => {
  test('is written with the best epoch, and its value is that of the validation', async () => {
    const { directory, validation } = await temporalRun(protocol(tgn));
    const { best } = JSON.parse(readFileSync(join(directory, 'done.json'), 'utf8')) as {
      best: { metric: string; value: number };
    };
    expect(best.metric).toBe('mrr');
    expect(best.value).toBe(validation['mrr']);
    const lines = readFileSync(join(directory, 'metrics.jsonl'), 'utf8').trim().split('\n');
    const values = lines.map((line) => JSON.parse(line)).filter(({ set }) => set === 'validation');
    expect(best.value).toBe(Math.max(...values.map(({ mrr }) => mrr)));
  });

  test('is rejected if it is unknown or not computed', () => {
    const config = protocol(tgn);
    for (const [override, message] of [
      ['evaluation.metric=mpr', /expected one of auto, ap, .* for evaluation\.metric, got mpr/],
      ['evaluation.metric=ap', /expected a metric of ranks .* evaluation\.pooled auto, got ap/],
      ['evaluation.amount=0', /evaluation\.amount/],
    ] as const) {
      expect(() => loadTemporalConfig(config, [override])).toThrow(ConfigError);
      expect(() => loadTemporalConfig(config, [override])).toThrow(message);
    }
    expect(loadTemporalConfig(config, ['evaluation.metric=hits@5']).warnings).toEqual([]);
  });
});

describe('cadence batch', () => {
  const frozen = ['evaluation.cadence=batch', 'evaluation.batch_size=50'];

  /** Scores of the first batch of validation, by row. */
  async function firstScores(model: string, path: string): Promise<Map<number, number[]>> {
    const { config } = loadTemporalConfig(protocol(model, path), frozen);
    const parts = assembleTemporal(config, await openStream(config));
    for await (const batch of parts.loaders.train.epoch(0)) parts.runtime.train(batch);
    for await (const batch of parts.loaders.validation.epoch(0)) {
      const { positive, negative } = parts.runtime.score(batch);
      const amount = negative.length / positive.length;
      return new Map(
        Array.from(batch.eventRows, (row, i) => [
          row,
          [positive[i], ...negative.slice(i * amount, (i + 1) * amount)],
        ]),
      );
    }
    return new Map();
  }

  const models = [
    ...[tgn, 'model: recency_popularity', 'model: logistic_recency', 'model: local_global'],
    'model: { kind: pair_statistics, hidden: [8], random_negatives: 5 }',
    'model: { kind: graph_mixer, neighbors: 4, dim_out: 8, dim_time: 6, mixer_dropout: 0 }',
  ];
  test.each(models)('hides the events of a batch from its other scores: %s', async (model) => {
    const before = await firstScores(model, file);
    const [first, ...rows] = before.keys();
    expect(rows).toHaveLength(49);
    const changed = events.map(([u, v, t], row): Event => (row === first ? [u, (v + 1) % 3, t] : [u, v, t]));
    const after = await firstScores(model, writeEvents(changed));
    expect(after.get(first)).not.toEqual(before.get(first));
    for (const row of rows) expect(after.get(row)).toEqual(before.get(row));
  });

  test('gives other scores than cadence moment', async () => {
    const config = protocol(tgn);
    const [moment, batch] = [
      await temporalRun(config),
      await temporalRun(config, [...frozen, `storage.model_dir=${folder()}`]),
    ];
    expect(batch.test['mrr']).not.toBe(moment.test['mrr']);
  });
});
