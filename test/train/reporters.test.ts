/** Ranks, classes and their metrics; progress; NDJSON; traces; signals. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tensor } from 'skein/tensor';
import {
  LinkPredictionReporter,
  Metric,
  NodeClassificationReporter,
  Output,
  ProgressReporter,
  RankingMetric,
  Reporter,
} from 'skein/train';
import { afterAll, describe, expect, it } from 'vitest';
import { Interrupt } from '#internal/train/run/interrupt.js';
import { metricByName } from '#internal/train/run/metric.js';
import { peakRssMb } from '#internal/train/run/peak-memory.js';
import { TraceWriter } from '#internal/train/run/trace.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-report-'));
afterAll(() => rmSync(folder, { recursive: true }));

// The vectors that Marius's own tests use; ranks as its rule (pessimistic) gives them.
const positive = [0.5, 2.5, 5, 7.5, 100, 250];
const negative = [0.5, 10, 2.5, -1, 5, 1, 7.5, -5, 100, 20, 250, 10];

describe('LinkPredictionReporter', () => {
  it.each([
    ['PESSIMISTIC', [3, 2, 2, 2, 2, 2]],
    ['REALISTIC', [2.5, 1.5, 1.5, 1.5, 1.5, 1.5]],
    ['OPTIMISTIC', [2, 1, 1, 1, 1, 1]],
  ] as const)('ranks ties %s', (ties, expected) => {
    const ranks: readonly number[] = expected;
    const reporter = new LinkPredictionReporter({ ties });
    reporter.addResult(tensor(positive), tensor(negative).reshape([6, 2]));
    expect([...reporter.ranks]).toEqual(ranks);
    const { mr, mrr } = reporter.results();
    expect(mr).toBeCloseTo(ranks.reduce((a, b) => a + b) / 6, 12);
    expect(mrr).toBeCloseTo(ranks.reduce((a, b) => a + 1 / b, 0) / 6, 12);
  });

  it('masks -1e9, counts hits and the area under the curve', () => {
    const reporter = new LinkPredictionReporter({ metrics: ['hits@1', 'hits@2', 'auc'] });
    reporter.addResult([1, 1], [2, -1e9, 0, 0, 3, 4], { direction: 'tail' });
    expect([...reporter.ranks]).toEqual([2, 3]);
    // Row 0: one of two real candidates is higher; row 1: two of three.
    const { auc, ...hits } = reporter.results();
    expect(hits).toEqual({ 'hits@1': 0, 'hits@2': 0.5 });
    expect(auc).toBeCloseTo((1 / 2 + 1 / 3) / 2, 12);
  });

  it('groups by relation and direction', () => {
    const reporter = new LinkPredictionReporter({ metrics: ['mr'] });
    reporter.addCounts([0, 4], [0, 0], 9, { relations: [1, 0], direction: 'tail' });
    reporter.addCounts([2], [1], [9], { relations: [1], direction: 'head' });
    expect(Object.fromEntries(reporter.resultsByRelation())).toEqual({
      0: { mr: 5, count: 1 },
      1: { mr: 2.25, count: 2 },
    });
    expect(Object.fromEntries(reporter.resultsByDirection())).toEqual({
      tail: { mr: 3, count: 2 },
      head: { mr: 3.5, count: 1 },
    });
  });

  it('grows, clears, takes metrics of your own', () => {
    class WorstRank extends RankingMetric {
      override readonly name = 'worst';
      override compute(ranks: Float64Array): number {
        return Math.max(...ranks);
      }
    }
    const reporter = new LinkPredictionReporter({ metrics: [new WorstRank()] }).addMetric(
      metricByName('mr') as RankingMetric,
    );
    expect(reporter).toBeInstanceOf(Reporter);
    expect(reporter.metrics.every((metric) => metric instanceof Metric)).toBe(true);
    const greater = Float64Array.from({ length: 5000 }, (_, i) => i);
    reporter.addCounts(greater, new Float64Array(5000), 10_000);
    expect(reporter.results()).toEqual({ worst: 5000, mr: 2500.5 });
    expect(reporter.report()).toBe('worst  5000\nmr     2501');
    reporter.clear();
    expect(reporter.size).toBe(0);
    expect(reporter.results()['mr']).toBeNaN();
  });

  it('keeps its results from a metric that sorts, and takes numbers only', () => {
    class Median extends RankingMetric {
      override readonly name = 'median';
      override compute(ranks: Float64Array, candidates: Float64Array): number {
        candidates.fill(0);
        return ranks.sort((a, b) => b - a).fill(9)[0];
      }
    }
    const reporter = new LinkPredictionReporter({ metrics: [new Median(), 'mr', 'auc'] });
    reporter.addCounts([0, 4], [0, 0], 8);
    expect(reporter.results()).toEqual({ median: 9, mr: 3, auc: 0.75 });
    expect([...reporter.ranks]).toEqual([1, 5]);
    class Words extends RankingMetric {
      override readonly name = 'words';
      override compute(): number {
        return 'good' as unknown as number;
      }
    }
    reporter.addMetric(new Words());
    expect(() => reporter.results()).toThrow(
      'evaluation: expected a number for the result of compute() of words, got "good"',
    );
  });

  it('refuses NaN, ragged scores and metrics of classes', () => {
    const reporter = new LinkPredictionReporter();
    expect(() => reporter.addResult([Number.NaN], [1])).toThrow(/positive, got NaN at row 0/);
    expect(() => reporter.addResult([1, 1], [1, 1, 1, Number.NaN])).toThrow(/negative, got NaN at row 1/);
    expect(() => reporter.addResult([1, 1], [1, 1, 1])).toThrow(/a multiple of 2 scores/);
    expect(() => new LinkPredictionReporter({ metrics: ['accuracy'] })).toThrow(/metrics of ranks/);
    expect(() => metricByName('hits@0')).toThrow(/hits@k/);
    expect(reporter.size).toBe(0);
  });

  it('saves metrics.txt', async () => {
    const reporter = new LinkPredictionReporter({ metrics: ['mrr'] });
    reporter.addResult([1], [0]);
    await reporter.save(join(folder, 'eval'));
    expect(readFileSync(join(folder, 'eval', 'metrics.txt'), 'utf8')).toBe('mrr: 1\nitems evaluated: 1\n');
  });
});

describe('NodeClassificationReporter', () => {
  it('takes scores or classes', () => {
    const reporter = new NodeClassificationReporter({
      numClasses: 3,
      metrics: ['accuracy', 'f1_macro', 'f1_micro'],
    });
    reporter.addResult(
      [0, 1, -1],
      tensor([
        [1, 0, 0],
        [0, 0, 1],
        [9, 0, 0],
      ]),
    );
    reporter.addResult(new Int32Array([2]), [2]);
    const { accuracy, f1_macro, f1_micro } = reporter.results();
    expect([accuracy, f1_micro]).toEqual([2 / 3, 2 / 3]);
    expect(f1_macro).toBeCloseTo((1 + 0 + 2 / 3) / 3, 12);
    reporter.clear();
    expect(reporter.size).toBe(0);
  });

  it('reports the mean cross entropy of labelled rows on request', () => {
    const reporter = new NodeClassificationReporter({ numClasses: 2, metrics: ['accuracy'], loss: true });
    const scores = [Math.log(3), 0, 9, 0];
    reporter.addResult([0, -1], tensor(scores).reshape([2, 2]));
    reporter.addResult([1], tensor([[1000, 1000]]));
    // Probabilities 3/4 and 1/2; scores are f32.
    expect(reporter.results()).toEqual({ accuracy: 0.5, loss: expect.closeTo(Math.log(8 / 3) / 2, 6) });
    reporter.addResult([0], [0]);
    expect(reporter.results()).toEqual({ accuracy: 2 / 3 });
  });

  it('refuses what does not fit', () => {
    const reporter = new NodeClassificationReporter({ numClasses: 2 });
    expect(() => reporter.addResult([0, 1], [0])).toThrow(/2 predictions/);
    expect(() => reporter.addResult([0], tensor([[Number.NaN, 1]]))).toThrow(/NaN at row 0/);
    expect(() => new NodeClassificationReporter({ numClasses: 2, metrics: ['mrr'] })).toThrow(
      /metrics of classes/,
    );
  });
});

describe('ProgressReporter', () => {
  function lines(logsPerEpoch: number, batches: readonly number[], total = 100): string[] {
    const written: string[] = [];
    let time = 0;
    const stream = { write: (text: string) => written.push(text) };
    const progress = new ProgressReporter({ logsPerEpoch, stream, now: () => time });
    progress.start(1, total);
    for (const batch of batches) {
      time += 1000;
      progress.addResult(batch, batch * 0.5);
    }
    progress.stop();
    return written;
  }

  it('writes as many lines as asked for, the last at the end', () => {
    const ten = Array(10).fill(10);
    for (const wanted of [0, 1, 2, 5, 10]) expect(lines(wanted, ten)).toHaveLength(wanted);
    expect(lines(2, ten)[1]).toBe('epoch 1: 100/100 edges (100 %), 10 edges/s, 0:00 left, loss 0.5000\n');
    // Fewer batches than lines: one line a batch.
    expect(lines(10, [50, 50])).toHaveLength(2);
    expect(lines(3, [], 0)).toEqual([]);
  });

  it('leaves the end of an epoch to a caller that prints it', () => {
    const written: string[] = [];
    let time = 0;
    const stream = { write: (text: string) => written.push(text) };
    const progress = new ProgressReporter({ logsPerEpoch: 2, endLine: false, stream, now: () => time });
    for (const epoch of [1, 2]) {
      progress.start(epoch, 100);
      for (let i = 0; i < 10; i++) {
        time += 1000;
        progress.addResult(10);
      }
    }
    expect(written.map((line) => line.slice(0, 26))).toEqual([
      'epoch 1: 50/100 edges (50 ',
      'epoch 2: 50/100 edges (50 ',
    ]);
  });

  it('writes no line for every tenth of an epoch that takes a moment', () => {
    const written: string[] = [];
    let time = 0;
    const stream = { write: (text: string) => written.push(text) };
    const progress = new ProgressReporter({ logsPerEpoch: 10, endLine: false, stream, now: () => time });
    progress.start(1, 100);
    for (let i = 0; i < 10; i++) {
      time += 300;
      progress.addResult(10);
    }
    expect(written).toHaveLength(2);
  });

  it('counts the epochs to come into the time left', () => {
    const written: string[] = [];
    let time = 0;
    const stream = { write: (text: string) => written.push(text) };
    const progress = new ProgressReporter({ logsPerEpoch: 2, stream, now: () => time });
    progress.epochs = 3;
    progress.start(1, 100);
    time = 10_000;
    progress.addResult(50);
    expect(written).toEqual(['epoch 1: 50/100 edges (50 %), 5 edges/s, 0:50 left\n']);
  });

  it('tells rate, rest and loss', () => {
    const [first] = lines(4, [25_000], 100_000);
    expect(first).toBe('epoch 1: 25,000/100,000 edges (25 %), 25.0k edges/s, 0:03 left, loss 0.5000\n');
  });

  it('counts only its own items for rate and rest when an epoch is resumed', () => {
    let time = 0;
    const written: string[] = [];
    const stream = { write: (text: string) => written.push(text) };
    const progress = new ProgressReporter({ logsPerEpoch: 10, stream, now: () => time });
    progress.start(2, 1000, 700);
    time = 10_000;
    progress.addResult(100);
    expect(progress.state().perSecond).toBe(10);
    expect(written).toEqual(['epoch 2: 800/1,000 edges (80 %), 10 edges/s, 0:20 left\n']);
  });
});

it('Output sends JSON to stdout and text to stderr with --json', () => {
  let [out, err] = ['', ''];
  const sinks = {
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (err += text) },
  };
  const json = new Output({ json: true, ...sinks });
  json.event('epoch', { loss: Number.NaN, mrr: 0.5, ids: Int32Array.of(1, 2) });
  json.text('hello');
  expect(out).toBe('{"event":"epoch","loss":null,"mrr":0.5,"ids":[1,2]}\n');
  expect(err).toBe('hello\n');
  out = err = '';
  const text = new Output(sinks);
  text.event('epoch', { loss: 1 });
  text.text('hello');
  text.warn('careful');
  expect([out, err]).toEqual(['hello\n', 'warning: careful\n']);
});

it('TraceWriter writes what Chrome reads, also when it is never closed', () => {
  const path = join(folder, 'trace.json');
  const trace = new TraceWriter(path);
  for (let i = 0; i < 2000; i++)
    trace.add({ stage: i % 2 ? 'load' : 'compute', start: i, duration: 0.5, details: { i } });
  const torn = readFileSync(path, 'utf8');
  expect(JSON.parse(`${torn.slice(0, torn.lastIndexOf('\n') - 1)}]`).length).toBeGreaterThan(500);
  trace.close();
  trace.close();
  const events = JSON.parse(readFileSync(path, 'utf8'));
  expect(events).toHaveLength(2002);
  expect(events[1]).toEqual({ name: 'compute', ph: 'X', ts: 0, dur: 500, pid: 1, tid: 1, args: { i: 0 } });
  expect(
    events
      .filter((event: { ph: string }) => event.ph === 'M')
      .map((event: { args: { name: string } }) => event.args.name),
  ).toEqual(['compute', 'load']);
});

it('Interrupt asks once, then ends', () => {
  const calls: unknown[] = [];
  const interrupt = new Interrupt({
    onRequest: (signal) => calls.push(signal),
    exit: (code) => calls.push(code),
  });
  expect(interrupt.requested).toBe(false);
  process.emit('SIGINT', 'SIGINT');
  expect(interrupt.requested).toBe(true);
  process.emit('SIGINT', 'SIGINT');
  process.emit('SIGTERM', 'SIGTERM');
  interrupt[Symbol.dispose]();
  expect(calls).toEqual(['SIGINT', 130, 143]);
  expect(process.listenerCount('SIGINT')).toBe(0);
});

it('Interrupt takes a closed terminal as one request, however often it is signalled', () => {
  const calls: unknown[] = [];
  const interrupt = new Interrupt({
    onRequest: (signal) => calls.push(signal),
    exit: (code) => calls.push(code),
  });
  for (let i = 0; i < 3; i++) process.emit('SIGHUP', 'SIGHUP');
  expect(interrupt.requested).toBe(true);
  process.emit('SIGTERM', 'SIGTERM');
  interrupt[Symbol.dispose]();
  expect(calls).toEqual(['SIGTERM', 143]);
  expect(process.listenerCount('SIGHUP')).toBe(0);
});

it('peakRssMb is a plausible number of MiB', () => {
  expect(peakRssMb()).toBeGreaterThanOrEqual(Math.floor(process.memoryUsage().rss / 2 ** 20));
  expect(peakRssMb()).toBeLessThan(100_000);
});
