/** Searches of tiny spaces: points, conditions, rounds, selection, and that a search continues as if it had not stopped. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { PreparedDataset } from 'skein/data';
import { loadConfig, resolveConfig, retrainBest, searchConfig } from 'skein/train';
import { describe, expect, test } from 'vitest';
import { builtInSpace, builtInSpaces } from '#internal/train/search/built-in-spaces.js';
import { pointSequence } from '#internal/train/search/points.js';
import { planRounds } from '#internal/train/search/rounds.js';
import { keyImportance, searchReport } from '#internal/train/search/search-report.js';
import { overridesOf, parseSpace, valuesAt } from '#internal/train/search/space.js';
import { randomRows, run, scratch, writeDataset } from './tiny.js';

const folder = scratch();
const rows = randomRows(40, 300, 2);
const dataset = writeDataset(folder(), {
  ...{ numNodes: 40, numRelations: 2, train: rows.subarray(0, 720) },
  ...{ validation: rows.subarray(720, 810), test: rows.subarray(810) },
});

/** A configuration file's values: DistMult of 8 columns for 6 epochs. */
const config = {
  model: {
    learning_task: 'LINK_PREDICTION',
    encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 8 }]] },
    decoder: { type: 'DISTMULT' },
    loss: { type: 'SOFTMAX_CE', options: { reduction: 'SUM' } },
  },
  storage: { dataset: { dataset_dir: dataset } },
  training: { num_epochs: 6, batch_size: 50, negative_sampling: { negatives_per_positive: 10 } },
  evaluation: { negative_sampling: { filtered: true }, epochs_per_eval: 2 },
};
const rates = ['model.dense_optimizer.options.learning_rate', 'model.sparse_optimizer.options.learning_rate'];
const space = { rate: { keys: rates, log: [0.01, 1] }, 'training.batch_size': [20, 50, 100] };

/** Returns the test metrics of a finished run. */
function outcomeOf(directory: string, run: string): unknown {
  return JSON.parse(readFileSync(join(directory, run, 'done.json'), 'utf8')).test;
}

describe('points', () => {
  test('depend on the seed and their number alone, and cover the space evenly', () => {
    for (const sampler of ['quasi', 'random'] as const) {
      const [a, b] = [pointSequence(sampler, 3, 4), pointSequence(sampler, 3, 4)];
      const forward = Array.from({ length: 20 }, (_, k) => a(k));
      expect(Array.from({ length: 20 }, (_, k) => b(19 - k)).reverse()).toEqual(forward);
      expect(pointSequence(sampler, 4, 4)(0)).not.toEqual(forward[0]);
      expect(forward.flat().every((x) => x >= 0 && x < 1)).toBe(true);
    }
    // 64 points of a sequence of low discrepancy: each of 16 cells of a square has 3 to 5, where 4 is the mean.
    const point = pointSequence('quasi', 1, 2);
    const cells = new Map<number, number>();
    for (let k = 0; k < 64; k++) {
      const [x, y] = point(k);
      const cell = 4 * Math.floor(4 * x) + Math.floor(4 * y);
      cells.set(cell, (cells.get(cell) ?? 0) + 1);
    }
    expect(cells.size).toBe(16);
    expect(Math.min(...cells.values())).toBeGreaterThanOrEqual(3);
    expect(Math.max(...cells.values())).toBeLessThanOrEqual(5);
  });

  test('steps of one dimension are those of the golden ratio', () => {
    const point = pointSequence('quasi', 1, 1);
    const step = (point(1)[0] - point(0)[0] + 1) % 1;
    expect(step).toBeCloseTo((Math.sqrt(5) - 1) / 2, 12);
  });
});

describe('spaces', () => {
  const at = (given: unknown, u: number): unknown => valuesAt(parseSpace({ x: given }), [u], {})['x'];

  test('lists, ranges, log ranges and whole numbers', () => {
    expect([0, 0.34, 0.99].map((u) => at(['a', 'b', 'c'], u))).toEqual(['a', 'b', 'c']);
    expect([0, 0.5].map((u) => at({ range: [-1, 3] }, u))).toEqual([-1, 1]);
    expect([0, 0.5].map((u) => at({ log: [0.01, 1] }, u))).toEqual([0.01, 0.1]);
    expect([0, 0.4999, 0.999].map((u) => at({ range: [1, 4], integer: true }, u))).toEqual([1, 2, 4]);
    expect(at({ log: [10, 1000], integer: true }, 0.5)).toBe(100);
    expect([0.1, 0.9].map((u) => at({ range: [-0.5, 0.5], min: 0 }, u))).toEqual([0, 0.4]);
  });

  test('conditions read earlier dimensions, sections, and the configuration', () => {
    const parsed = parseSpace({
      init: { keys: ['a.init', 'b.init'], values: [{ type: 'NORMAL' }, { type: 'ONES' }] },
      std: { key: 'a.init.options.std', range: [1, 2], when: 'a.init.type == NORMAL' },
      other: { key: 'c', values: [1], when: 'training.form != NEGATIVES' },
    });
    const defaults = { training: { form: 'NEGATIVES' } };
    expect(valuesAt(parsed, [0, 0, 0], defaults)).toEqual({
      'a.init': { type: 'NORMAL' },
      'b.init': { type: 'NORMAL' },
      'a.init.options.std': 1,
    });
    expect(Object.keys(valuesAt(parsed, [0.9, 0, 0], { training: { form: 'K_VS_ALL' } }))).toEqual([
      'a.init',
      'b.init',
      'c',
    ]);
  });

  test('errors name the dimension', () => {
    for (const [given, message] of [
      [
        { x: 3 },
        'expected a list or a mapping with values, range or log in x of the space, got 3. Write for example',
      ],
      [{ x: { range: [2, 1] } }, 'expected two numbers in ascending order for range in x'],
      [{ x: { log: [0, 1] } }, 'expected two positive numbers in ascending order for log in x'],
      [{ x: { range: [1, 2], log: [1, 2] } }, 'expected one of values, range and log in x'],
      [{ x: { values: [], when: 'a' } }, 'expected a condition such as'],
      [{ x: { rang: [1, 2] } }, 'got "rang"'],
      [[1], 'expected a mapping of configuration keys to values for the space'],
    ] as const)
      expect(() => parseSpace(given)).toThrow(message);
    expect(() => builtInSpace('kge')).toThrow('expected a file or one of kg, kg-dropout, kg-large');
    for (const name of builtInSpaces) expect(parseSpace(builtInSpace(name)).length).toBeGreaterThan(3);
  });
});

test('every point of the built-in spaces is a valid configuration, whatever the form of training', () => {
  for (const name of builtInSpaces)
    for (const form of ['NEGATIVES', 'ONE_VS_ALL', 'K_VS_ALL']) {
      const base = {
        ...config,
        model: { ...config.model, decoder: { type: 'COMPLEX' } },
        training: { ...config.training, form },
      };
      const dimensions = parseSpace(builtInSpace(name));
      const point = pointSequence('quasi', 1, dimensions.length);
      const { config: defaults } = resolveConfig(base);
      for (let k = 0; k < 32; k++)
        expect(() =>
          resolveConfig(base, overridesOf(valuesAt(dimensions, point(k), defaults))),
        ).not.toThrow();
    }
});

test('rounds of successive halving spend the budget', () => {
  const plan = (variant: 'plain' | 'epoch' | 'rank', trials: number) =>
    planRounds({ variant, trials, epochs: 160, width: 256, eta: 4, budget: 3 });
  expect(plan('plain', 16)).toEqual([{ trials: 16, epochs: 160, rank: null, fraction: null }]);
  // 16 trials of 15 epochs, 4 of 60: 1.5 full runs each.
  expect(plan('epoch', 16).map(({ trials, epochs }) => [trials, epochs])).toEqual([
    [16, 15],
    [4, 60],
    [1, 160],
  ]);
  expect(plan('rank', 64).map(({ trials, rank }) => [trials, rank])).toEqual([
    [64, 64],
    [16, 64],
    [4, 64],
    [1, null],
  ]);
  expect(() => planRounds({ variant: 'rank', trials: 4, epochs: 8, width: null, eta: 4, budget: 3 })).toThrow(
    'expected one EMBEDDING layer for the variant rank',
  );
});

/** The log without times. */
function logOf(directory: string): unknown[] {
  return readFileSync(join(directory, 'trials.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => ({ ...JSON.parse(line), seconds: undefined }));
}

const bestOf = (directory: string): string => readFileSync(join(directory, 'best.yaml'), 'utf8');

describe('a plain search', () => {
  test('trains every point, selects by validation, and can be enlarged', async () => {
    const directory = folder();
    const small = await searchConfig({ directory, config, space, trials: 3 });
    expect(small.trials.map(({ epochs }) => epochs)).toEqual([6, 6, 6]);
    expect(small.trials.map(({ value }) => value)).toEqual(
      small.trials.map(({ value }) => value).toSorted((a, b) => b - a),
    );
    const [{ trial, value, epoch, values }] = small.trials;
    expect(bestOf(directory)).toContain(
      `# Trial ${trial}: mrr ${value.toFixed(4)} on the validation set in epoch ${epoch}.`,
    );
    expect(loadConfig(join(directory, 'best.yaml')).config.training.batch_size).toBe(
      values['training.batch_size'],
    );
    // Nothing was tested.
    expect(readFileSync(join(directory, 't0000', 'metrics.jsonl'), 'utf8')).not.toMatch(
      /"set":"test"|baseline/,
    );

    const larger = await searchConfig({ directory, trials: 5 });
    expect(larger.trials).toHaveLength(5);
    for (const one of small.trials) expect(larger.trials).toContainEqual(one);
    const fresh = await searchConfig({ directory: folder(), config, space, trials: 5 });
    expect(fresh.trials.map((one) => ({ ...one, seconds: 0 }))).toEqual(
      larger.trials.map((one) => ({ ...one, seconds: 0 })),
    );
    expect(bestOf(fresh.directory)).toBe(bestOf(directory));
    expect(searchReport(larger).join('\n')).toMatch(/rank correlation with mrr\n {2}\w+/);
    await expect(searchConfig({ directory, trials: 2 })).rejects.toThrow('expected at least 5');
    await expect(searchConfig({ directory, space: { 'training.batch_size': [1] } })).rejects.toThrow(
      'expected the space that',
    );
    await expect(searchConfig({ directory: folder() })).rejects.toThrow('expected config and space');
  });

  test('trials that are rejected or diverge fail, and the search continues', async () => {
    const odd = { 'model.encoder.layers[0][0].output_dim': [7, 8] };
    const complex = { ...config, model: { ...config.model, decoder: { type: 'COMPLEX' } } };
    const { trials, failed } = await searchConfig({
      directory: folder(),
      config: complex,
      space: odd,
      trials: 4,
    });
    expect(trials.length + failed.length).toBe(4);
    expect(trials.length).toBeGreaterThan(0);
    expect(failed[0].reason).toContain('expected an even encoder output');
  });

  test('is rejected before it writes anything', async () => {
    const directory = join(folder(), 'new');
    await expect(
      searchConfig({ directory, config, space: { 'training.batch_sise': [10, 20] }, trials: 2 }),
    ).rejects.toThrow(/got 2 that it rejects, the first with: .* Did you mean training.batch_size/);
    expect(existsSync(directory)).toBe(false);
    const epochs = { 'training.num_epochs': [1, 2] };
    await expect(searchConfig({ directory, config, space: epochs })).rejects.toThrow(
      'a space without training.num_epochs',
    );
    const widths = { 'model.encoder.layers[0][0].output_dim': [4, 8] };
    await expect(searchConfig({ directory, config, space: widths, variant: 'rank' })).rejects.toThrow(
      'without output_dim with variant rank or combined',
    );
    const other = folder();
    mkdirSync(other, { recursive: true });
    writeFileSync(join(other, 'notes.txt'), 'mine');
    await expect(searchConfig({ directory: other, config, space })).rejects.toThrow('with notes.txt in it');
    expect(readdirSync(other)).toEqual(['notes.txt']);
    await expect(searchConfig({ directory: join(other, 'notes.txt'), config, space })).rejects.toThrow(
      'got the file',
    );
  });

  test('retrains the best with several seeds and tests it', async () => {
    const directory = folder();
    await searchConfig({ directory, config, space, trials: 1 });
    const { runs, mean, deviation } = await retrainBest(directory, 2);
    expect(mean['mrr']).toBeCloseTo((runs[0]['mrr'] + runs[1]['mrr']) / 2, 12);
    expect(deviation['mrr']).toBeCloseTo(Math.abs(runs[0]['mrr'] - runs[1]['mrr']) / Math.SQRT2, 12);
    expect((await retrainBest(directory, 2)).runs).toEqual(runs);
    // An enlarged search can have another best.
    const file = join(directory, 'best.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/num_epochs: \d+/, 'num_epochs: 1'));
    expect((await retrainBest(directory, 1)).runs[0]).not.toEqual(runs[0]);
    expect(outcomeOf(directory, 'retrain-1-old1')).toEqual(runs[0]);
    expect(existsSync(join(directory, 'retrain-1-old1.yaml'))).toBe(true);
  });

  test('keeps runs without a file of settings if their configuration agrees, and never deletes one', async () => {
    const directory = folder();
    await searchConfig({ directory, config, space, trials: 1 });
    const { runs } = await retrainBest(directory, 2);
    for (const seed of [1, 2]) rmSync(join(directory, `retrain-${seed}.yaml`));
    const changed = join(directory, 'retrain-1', 'done.json');
    const marked = { ...runs[0], mrr: 0.125 };
    const done = JSON.parse(readFileSync(changed, 'utf8'));
    writeFileSync(changed, JSON.stringify({ ...done, test: marked }));
    // It is kept as it is, not trained again.
    expect((await retrainBest(directory, 2)).runs).toEqual([marked, runs[1]]);
    for (const seed of [1, 2]) rmSync(join(directory, `retrain-${seed}.yaml`));
    const file = join(directory, 'best.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/num_epochs: \d+/, 'num_epochs: 1'));
    const again = await retrainBest(directory, 2);
    expect(again.runs[1]).not.toEqual(runs[1]);
    expect(outcomeOf(directory, 'retrain-1-old1')).toEqual(marked);
    expect(outcomeOf(directory, 'retrain-2-old1')).toEqual(runs[1]);
    expect((await retrainBest(directory, 2)).runs).toEqual(again.runs);
    expect(existsSync(join(directory, 'retrain-1-old2'))).toBe(false);
  });
});

describe('successive halving', () => {
  test('continues trials from their checkpoints: the last has the bits of a run in one go', async () => {
    const directory = folder();
    const { trials, firstRound } = await searchConfig({
      directory,
      config,
      space,
      trials: 4,
      variant: 'epoch',
    });
    expect(firstRound).toHaveLength(4);
    const [best] = trials;
    expect([best.round, best.epochs]).toEqual([1, 6]);
    expect(trials.slice(1).every(({ round, epochs }) => round === 0 && epochs < 6)).toBe(true);
    const whole = folder();
    const overrides = [`storage.model_dir=${JSON.stringify(whole)}`];
    await run(resolveConfig(loadValues(directory), overrides).config);
    const name = `t${String(best.trial).padStart(4, '0')}`;
    const table = (path: string) => readFileSync(join(path, 'model.safetensors')).length;
    expect(table(join(directory, name))).toBe(table(whole));
    expect(lossOf(join(directory, name), 6)).toBe(lossOf(whole, 6));
  });

  test('with fewer columns first', async () => {
    const wide = {
      ...config,
      model: { ...config.model, encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 80 }]] } },
    };
    const directory = folder();
    const { trials } = await searchConfig({ directory, config: wide, space, trials: 2, variant: 'rank' });
    expect(trials.map(({ rank }) => rank)).toEqual([null, 64]);
    expect(existsSync(join(directory, 't0000-d64', 'full_config.yaml'))).toBe(true);
  });

  test('on a core of the graph first', async () => {
    const directory = folder();
    const { trials, firstRound } = await searchConfig({
      ...{ directory, config, space, trials: 5, variant: 'combined' },
    });
    expect(trials[0].core).toBeNull();
    const k = firstRound[0].core as number;
    expect(k).toBeGreaterThan(1);
    const core = await PreparedDataset.open(join(directory, `core-${k}`));
    const edges = await core.readEdges('train');
    const held = await core.readEdges('validation');
    expect(held.length).toBe(3 * Math.floor((edges.length + held.length) / 15));
    // Every node has k neighbours among the others.
    const neighbours = Array.from({ length: core.stats.num_nodes }, () => new Set<number>());
    for (const rows of [edges, held])
      for (let i = 0; i < rows.length; i += 3)
        if (rows[i] !== rows[i + 2]) {
          neighbours[rows[i]].add(rows[i + 2]);
          neighbours[rows[i + 2]].add(rows[i]);
        }
    expect(Math.min(...neighbours.map(({ size }) => size))).toBeGreaterThanOrEqual(k);
    const low = loadConfig(join(directory, `t0000-c${k}`, 'full_config.yaml')).config;
    const share = core.stats.num_nodes / 40;
    expect(low.training.negative_sampling.negatives_per_positive).toBe(Math.round(10 * share));
  });

  test('resumes from any event of its log with the same end', async () => {
    const whole = folder();
    await searchConfig({ directory: whole, config, space, trials: 4, variant: 'epoch' });
    const lines = readFileSync(join(whole, 'trials.jsonl'), 'utf8').split('\n').slice(0, -1);
    const started = lines.findIndex((line) => line.includes('"started","trial":2'));
    const cut = folder();
    cpSync(whole, cut, { recursive: true });
    // Killed in trial 2, while a line was written.
    writeFileSync(join(cut, 'trials.jsonl'), `${lines.slice(0, started + 1).join('\n')}\n`);
    appendFileSync(join(cut, 'trials.jsonl'), '{"event":"do');
    for (const name of ['best.yaml', 't0002', 't0003'])
      rmSync(join(cut, name), { recursive: true, force: true });
    const best = JSON.parse(lines[lines.length - 1]).trial;
    for (const later of [`t${String(best).padStart(4, '0')}`]) {
      // The last round trained it further; a killed search has not.
      rmSync(join(cut, later), { recursive: true, force: true });
    }
    await searchConfig({ directory: cut });
    expect(bestOf(cut)).toBe(bestOf(whole));
    const done = (directory: string) =>
      logOf(directory).filter((one) => (one as { event: string }).event === 'done');
    expect(done(cut)).toEqual(done(whole));
  });
});

const loadValues = (directory: string): unknown => {
  const { config: resolved } = loadConfig(join(directory, 'best.yaml'));
  return resolved;
};

/** The loss of an epoch, from the metrics of a run. */
function lossOf(directory: string, epoch: number): number {
  const records = readFileSync(join(directory, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return records.find((one) => one.event === 'epoch' && one.epoch === epoch)?.loss;
}

test('importance is a rank correlation, or the variance that names explain', () => {
  const trial = (value: number, values: object) => ({
    trial: 0,
    round: 0,
    epochs: 1,
    rank: null,
    core: null,
    epoch: 1,
    seconds: 1,
    value,
    values: { ...values },
  });
  const firstRound = [1, 2, 3, 4].map((x) =>
    trial(x ** 3, { rate: x, down: -x, name: x > 2 ? 'b' : 'a', same: 1 }),
  );
  const found = Object.fromEntries(
    keyImportance({ firstRound, lowerIsBetter: false }).map(({ key, correlation }) => [key, correlation]),
  );
  expect(found['rate']).toBeCloseTo(1, 12);
  expect(found['down']).toBeCloseTo(-1, 12);
  // Ranks 1, 2 and 3, 4: between groups 4 of a total of 5.
  expect(found['name']).toBeCloseTo(Math.sqrt(0.8), 12);
  expect(Object.keys(found)).not.toContain('same');
});
