/**
 * Two baselines from recency and popularity.
 *
 * `RecencyPopularity` has nothing to fit: pairs that met come before pairs that did not, the recent ones first; the others
 * are ordered by the decaying popularity of the destination. `LogisticRecency` weighs the same quantities, and a few more, by
 * a logistic regression over every training event once.
 */
import { checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { number } from '../../util/settings.js';
import type { CandidateIndex } from '../candidates.js';
import type { EventStream } from '../event-stream.js';
import type { StateSnapshot } from '../temporal-state.js';
import type { DurableBaseline } from './baseline.js';
import { baselineKind, trainingTime } from './baseline-kind.js';
import { MeetingHistory, type NodePast, type PairPast } from './meeting-history.js';

export interface RecencyOptions {
  /** Times after which a meeting counts half, for popularity; see `halfLivesOf`. */
  readonly halfLives: readonly number[];
}

/** Half-lives that suit the first `trainEnd` events of a stream: a tenth, a hundredth and a thousandth of their duration. */
export function halfLivesOf(stream: EventStream, trainEnd: number): number[] {
  const duration = trainEnd > 0 ? stream.time[trainEnd - 1] - stream.time[0] : 0;
  return [10, 100, 1000].map((part) => (duration > 0 ? duration / part : 1));
}

function makeHistory(where: string, { halfLives }: RecencyOptions): MeetingHistory {
  if (!Array.isArray(halfLives) || halfLives.length === 0)
    throw new ValueError(expected(where, 'at least one number', 'halfLives', halfLives));
  for (const value of halfLives) checkNumber(where, 'halfLives', value, Number.MIN_VALUE);
  return new MeetingHistory(halfLives.slice());
}

export class RecencyPopularity implements DurableBaseline {
  readonly name = 'RecencyPopularity';
  readonly #history: MeetingHistory;
  readonly #scale: number;

  constructor(options: RecencyOptions) {
    checkOptionNames('RecencyPopularity', options, { halfLives: true });
    this.#history = makeHistory('RecencyPopularity', options);
    this.#scale = options.halfLives[0];
  }

  reset(): void {
    this.#history.clear();
  }

  observe(src: number, dst: number, time: number): void {
    this.#history.observe(src, dst, time);
  }

  /** Above 1 for pairs that met, in either direction; below 1 for others. */
  score(src: number, dst: number, time: number): number {
    const there = this.#history.pair(src, dst)?.last ?? -Infinity;
    const back = this.#history.pair(dst, src)?.last ?? -Infinity;
    const last = Math.max(there, back);
    if (last > -Infinity) return this.#met(last, time);
    const popularity = this.#history.faded(this.#history.destination(dst), time, 0);
    return popularity / (1 + popularity);
  }

  scoreMany(src: number, candidates: CandidateIndex, time: number, out: Float64Array): void {
    const { nodes } = candidates;
    for (let k = 0; k < nodes.length; k++) {
      const back = this.#history.pair(nodes[k], src)?.last;
      if (back !== undefined) out[k] = this.#met(back, time);
      else {
        const popularity = this.#history.faded(this.#history.destination(nodes[k]), time, 0);
        out[k] = popularity / (1 + popularity);
      }
    }
    for (const dst of this.#history.metBy(src)) {
      const at = candidates.position(dst);
      if (at >= 0) out[at] = this.score(src, dst, time);
    }
  }

  #met(last: number, time: number): number {
    return 1 + 1 / (1 + (time - last) / this.#scale);
  }

  get bytes(): number {
    return this.#history.bytes;
  }

  forget(): void {
    this.#history.clear();
  }

  snapshot(): StateSnapshot {
    return { arrays: this.#history.save() };
  }

  restore({ arrays }: StateSnapshot): void {
    this.#history.load(arrays);
  }
}

/** Features besides those of each half-life. */
const plain = 15;
const rate = 0.05;

export class LogisticRecency implements DurableBaseline {
  readonly name = 'LogisticRecency';
  readonly #history: MeetingHistory;
  readonly #scale: number;
  readonly #numScales: number;
  readonly #features: Float64Array;
  readonly #weights: Float64Array;
  /** Sums of squared gradients (AdaGrad). */
  readonly #squares: Float64Array;

  constructor(options: RecencyOptions) {
    checkOptionNames('LogisticRecency', options, { halfLives: true });
    this.#history = makeHistory('LogisticRecency', options);
    this.#numScales = options.halfLives.length;
    this.#scale = options.halfLives[this.#numScales - 1];
    const width = plain + 3 * this.#numScales;
    this.#features = new Float64Array(width);
    this.#weights = new Float64Array(width);
    this.#squares = new Float64Array(width).fill(1e-6);
  }

  reset(): void {
    this.#history.clear();
    this.#weights.fill(0);
    this.#squares.fill(1e-6);
  }

  observe(src: number, dst: number, time: number): void {
    this.#history.observe(src, dst, time);
  }

  score(src: number, dst: number, time: number): number {
    this.#describe(src, dst, time);
    let sum = 0;
    for (let f = 0; f < this.#features.length; f++) sum += this.#weights[f] * this.#features[f];
    return sum;
  }

  learn(src: number, dst: number, time: number, label: number): void {
    const error = 1 / (1 + Math.exp(-this.score(src, dst, time))) - label;
    for (let f = 0; f < this.#features.length; f++) {
      const gradient = error * this.#features[f];
      this.#squares[f] += gradient * gradient;
      this.#weights[f] -= (rate * gradient) / Math.sqrt(this.#squares[f]);
    }
  }

  get bytes(): number {
    return this.#history.bytes + 16 * this.#weights.length;
  }

  forget(): void {
    this.#history.clear();
  }

  snapshot(): StateSnapshot {
    const [weights, squares] = [this.#weights.slice(), this.#squares.slice()];
    return { arrays: { ...this.#history.save(), weights, squares } };
  }

  restore({ arrays }: StateSnapshot): void {
    this.#history.load(arrays);
    this.#weights.set(arrays['weights'] as Float64Array);
    this.#squares.set(arrays['squares'] as Float64Array);
  }

  #describe(src: number, dst: number, time: number): void {
    const history = this.#history;
    const x = this.#features;
    const own = history.source(src);
    const target = history.destination(dst);
    const pair = history.pair(src, dst);
    const back = history.pair(dst, src);
    const isNew = own === undefined ? 1 : 0;
    x[0] = 1;
    x[1] = isNew;
    x[2] = pair === undefined ? 0 : 1;
    x[3] = this.#age(pair, time);
    x[4] = pair === undefined ? 0 : Math.log1p(pair.count);
    x[5] = pair === undefined || own === undefined ? 0 : pair.count / own.count;
    x[6] = own?.partner === dst ? 1 : 0;
    x[7] = target?.partner === src ? 1 : 0;
    x[8] = back === undefined ? 0 : 1;
    x[9] = this.#age(back, time);
    x[10] = target === undefined ? 1 : 0;
    x[11] = this.#age(target, time);
    x[12] = Math.log1p(target?.count ?? 0);
    const acts = history.source(dst);
    x[13] = acts === undefined ? 1 : 0;
    x[14] = this.#age(acts, time);
    for (let h = 0; h < this.#numScales; h++) {
      const popularity = Math.log1p(history.faded(target, time, h));
      x[plain + 3 * h] = popularity;
      // New sources, and pairs that never met, lean on popularity differently.
      x[plain + 3 * h + 1] = isNew * popularity;
      x[plain + 3 * h + 2] = Math.log1p(history.faded(acts, time, h));
    }
  }

  /** How long ago, on a logarithmic scale; 0 where there is no past. */
  #age(past: PairPast | NodePast | undefined, time: number): number {
    return past === undefined ? 0 : Math.log1p((time - past.last) / this.#scale) / 5;
  }
}

const settings = {
  half_life: number(
    0,
    'time after which a meeting counts half towards popularity, in the unit of the times; 0: a tenth of the training time',
    { min: 0 },
  ),
};

/** The longest half-life, and a tenth and a hundredth of it, as `halfLivesOf` has them. */
function halfLives(place: Parameters<typeof trainingTime>[0], given: number): number[] {
  const trained = trainingTime(place);
  const longest = given > 0 ? given : trained / 10;
  return [1, 10, 100].map((part) => (longest > 0 ? longest / part : 1));
}

export const recencyPopularityKind = baselineKind({
  kind: 'recency_popularity',
  doc: 'pairs that met before, the recent ones first; then destinations by their fading popularity',
  settings,
  baseline: ({ options, ...place }) =>
    new RecencyPopularity({ halfLives: halfLives(place, options.half_life).slice(0, 1) }),
});

export const logisticRecencyKind = baselineKind({
  kind: 'logistic_recency',
  doc: 'a logistic regression on recency and popularity that sees every training event once',
  settings,
  baseline: ({ options, ...place }) =>
    new LogisticRecency({ halfLives: halfLives(place, options.half_life) }),
});
