/** The work of a search: rounds of trials, the selection after each, and the result. */
import { join } from 'node:path';
import { resolveConfig, type SkeinConfig } from '../config/index.js';
import { isLower } from '../fit.js';
import { lowerMetrics } from '../run/metric.js';
import type { Output } from '../run/output.js';
import { formatMetric } from '../run/reporter.js';
import { headlineOf } from '../tasks/graph/graph-run.js';
import { openDataset } from '../tasks/graph/storage/open-dataset.js';
import { type CoreDataset, coreDataset } from './core-dataset.js';
import { pointSequence } from './points.js';
import { planRounds, type Round } from './rounds.js';
import { type SearchSettings, writeBest } from './search-files.js';
import { overridesOf, parseSpace, type TrialValues, valuesAt } from './space.js';
import type { TrialOutcome } from './trial.js';
import { type DoneTrial, logFile, TrialLog } from './trial-log.js';
import { type PooledJob, runPool } from './trial-pool.js';

/** A trial of a finished round. */
export interface SearchTrial extends Omit<DoneTrial, 'event'> {
  readonly values: TrialValues;
}

export interface SearchResult {
  readonly directory: string;
  readonly metric: string;
  readonly lowerIsBetter: boolean;
  /** Whether trials are missing because of a signal or the time limit. */
  readonly interrupted: boolean;
  /** The last result of each trial: those of later rounds first, the best of a round first. */
  readonly trials: readonly SearchTrial[];
  /** Results of the first round, in which all trials are compared. */
  readonly firstRound: readonly SearchTrial[];
  readonly failed: readonly { readonly trial: number; readonly reason: string }[];
  /** The path of the best configuration; null before the end. */
  readonly best: string | null;
}

export interface SearchParts {
  readonly directory: string;
  readonly settings: SearchSettings;
  readonly jobs: number;
  readonly minutes: number;
  readonly output: Output;
}

/** A round with the core that it trains on. */
interface OpenRound extends Round {
  readonly core: number | null;
  readonly data: CoreDataset | null;
}

/** One of this many trials stays after a round, and all rounds but the last cost this many full runs. */
const [eta, budget] = [4, 3];

export class Search {
  readonly #parts: SearchParts;
  readonly #log: TrialLog;
  readonly #rounds: readonly Round[];
  readonly #values: readonly TrialValues[];
  readonly #metric: string;
  readonly #lowerIsBetter: boolean;
  readonly #deadline: number;

  constructor(parts: SearchParts) {
    const { directory, settings, minutes } = parts;
    const { config } = resolveConfig(settings.config);
    this.#parts = parts;
    this.#log = new TrialLog(join(directory, logFile));
    this.#rounds = planRounds({
      ...{ variant: settings.variant, trials: settings.trials, eta, budget },
      ...{ epochs: config.training.num_epochs, width: embeddingWidth(config) },
    });
    this.#values = trialValues(settings, config);
    this.#metric = config.training.early_stopping?.metric ?? headlineOf(config);
    this.#lowerIsBetter = isLower(this.#metric, lowerMetrics());
    this.#deadline = performance.now() + 60_000 * minutes;
  }

  async run(): Promise<SearchResult> {
    for (const [trial, values] of this.#values.entries())
      if (!this.#log.isPlanned(trial)) this.#log.add({ event: 'planned', trial, values });
    let running = this.#values.map((_, trial) => trial);
    const last = new Map<number, SearchTrial>();
    let firstRound: readonly SearchTrial[] = [];
    for (const [index, planned] of this.#rounds.entries()) {
      const round = await this.#open(planned);
      if (!(await this.#runRound(index, round, running)))
        return this.#result(
          last,
          firstRound.length > 0 ? firstRound : this.#resultsOf(round, index, running),
          null,
        );
      const results = this.#resultsOf(round, index, running);
      if (index === 0) firstRound = results;
      for (const one of results) last.set(one.trial, one);
      const next = this.#rounds[index + 1]?.trials ?? 0;
      running = results.slice(0, next).map(({ trial }) => trial);
    }
    const [best] = this.#ordered(last);
    return this.#result(last, firstRound, best === undefined ? null : await this.#writeBest(best));
  }

  /** Prepares the core that a round trains on. */
  async #open(round: Round): Promise<OpenRound> {
    const { directory, settings } = this.#parts;
    const { fraction } = round;
    if (fraction === null) return { ...round, core: null, data: null };
    const dataset = await openDataset(resolveConfig(settings.config).config);
    const data = await coreDataset(dataset, fraction, { parent: directory, seed: settings.seed });
    return { ...round, core: data.k, data };
  }

  /** Trains what the log has no result of. Returns false if it was interrupted. */
  async #runRound(index: number, round: OpenRound, trials: readonly number[]): Promise<boolean> {
    const { jobs, output } = this.#parts;
    const missing = trials.filter(
      (trial) => this.#log.failure(trial) === undefined && this.#log.result(trial, round) === undefined,
    );
    if (missing.length > 0 && this.#rounds.length > 1)
      output.note(
        `round ${index + 1} of ${this.#rounds.length}: ${count(trials.length, 'trial')}, ${count(round.epochs, 'epoch')}${round.rank === null ? '' : `, ${round.rank} columns`}${round.core === null ? '' : `, the ${round.core}-core`}`,
      );
    return runPool(
      missing.map((trial) => this.#job(trial, index, round)),
      { jobs, goesOn: () => performance.now() < this.#deadline },
    );
  }

  #job(trial: number, index: number, { epochs, rank, core, data }: OpenRound): PooledJob {
    const { directory, settings } = this.#parts;
    const overrides = [
      ...overridesOf(this.#values[trial]),
      ...(rank === null ? [] : [`model.encoder.layers[0][0].output_dim=${rank}`]),
    ];
    const where = `${rank === null ? '' : `-d${rank}`}${core === null ? '' : `-c${core}`}`;
    const setting = { trial, round: index, epochs, rank, core };
    return {
      directory: join(directory, `t${String(trial).padStart(4, '0')}${where}`),
      config: settings.config,
      overrides:
        data === null ? overrides : [...overrides, ...coreOverrides(settings.config, overrides, data)],
      ...{ epochs, metric: this.#metric, lowerIsBetter: this.#lowerIsBetter },
      onStart: () => this.#log.add({ event: 'started', ...setting }),
      onEnd: (outcome, seconds) => this.#end({ ...setting, seconds }, outcome),
    };
  }

  #end(done: Omit<DoneTrial, 'event' | 'value' | 'epoch'>, outcome: TrialOutcome): void {
    const { output } = this.#parts;
    const { trial, round, seconds } = done;
    const values = describeValues(this.#values[trial], varyingKeys(this.#values));
    if (outcome.kind === 'failed') {
      this.#log.add({ event: 'failed', trial, round, reason: outcome.reason });
      output.text(`trial ${trial}  failed: ${outcome.reason}  ${values}`);
      output.event('failed', { trial, round, reason: outcome.reason });
    } else if (outcome.kind === 'done') {
      const { value, epoch } = outcome;
      this.#log.add({ event: 'done', ...done, value, epoch });
      output.text(
        `trial ${trial}  ${this.#metric} ${formatMetric(value)} in epoch ${epoch}  ${seconds.toFixed(1)} s  ${values}`,
      );
      output.event('trial', { ...done, value, epoch, values: this.#values[trial] });
    }
  }

  /** Returns the results of a round, the best first; the first of equals has the lowest number. */
  #resultsOf(round: OpenRound, index: number, trials: readonly number[]): SearchTrial[] {
    const found = trials.flatMap((trial) => {
      const result = this.#log.result(trial, round);
      if (result === undefined || this.#log.failure(trial) !== undefined) return [];
      const { event: _, ...rest } = result;
      return [{ ...rest, round: index, values: this.#values[trial] }];
    });
    return this.#sorted(found);
  }

  #sorted(trials: readonly SearchTrial[]): SearchTrial[] {
    const sign = this.#lowerIsBetter ? 1 : -1;
    return trials.toSorted((a, b) => b.round - a.round || sign * (a.value - b.value) || a.trial - b.trial);
  }

  #ordered(last: ReadonlyMap<number, SearchTrial>): SearchTrial[] {
    return this.#sorted([...last.values()]);
  }

  async #writeBest({ trial, value, epoch }: SearchTrial): Promise<string> {
    const { directory, settings } = this.#parts;
    const comment = `Trial ${trial}: ${this.#metric} ${formatMetric(value)} on the validation set in epoch ${epoch}.`;
    return writeBest(directory, settings, this.#values[trial], comment);
  }

  #result(
    last: ReadonlyMap<number, SearchTrial>,
    firstRound: readonly SearchTrial[],
    best: string | null,
  ): SearchResult {
    const failed = this.#values.flatMap((_, trial) => {
      const reason = this.#log.failure(trial);
      return reason === undefined ? [] : [{ trial, reason }];
    });
    return {
      ...{ directory: this.#parts.directory, metric: this.#metric, lowerIsBetter: this.#lowerIsBetter },
      interrupted: best === null && failed.length < this.#values.length,
      trials: last.size === 0 ? firstRound : this.#ordered(last),
      ...{ firstRound, failed, best },
    };
  }
}

/** Returns the values of all trials. @param config the resolved configuration that is varied. */
export function trialValues(settings: SearchSettings, config: SkeinConfig): TrialValues[] {
  const space = parseSpace(settings.space);
  const point = pointSequence(settings.sampler, settings.seed, space.length);
  return Array.from({ length: settings.trials }, (_, k) => valuesAt(space, point(k), config));
}

/** Returns overrides for a core: its directory, and fewer negatives, as there are fewer nodes to draw them from. */
function coreOverrides(
  config: unknown,
  overrides: readonly string[],
  { directory, nodeFraction }: CoreDataset,
): string[] {
  const { config: own } = resolveConfig(config, overrides);
  const { negatives_per_positive: given } = own.training.negative_sampling;
  const scaled = (count: number): number =>
    count === -1 ? -1 : Math.max(1, Math.round(count * Math.max(0.01, nodeFraction)));
  const negatives =
    typeof given === 'number' ? scaled(given) : { src: scaled(given.src), dst: scaled(given.dst) };
  return [
    `storage.dataset.dataset_dir=${JSON.stringify(directory)}`,
    ...(own.training.negative_sampling.filtered
      ? []
      : [`training.negative_sampling.negatives_per_positive=${JSON.stringify(negatives)}`]),
  ];
}

function count(n: number, unit: string): string {
  return `${n} ${unit}${n === 1 ? '' : 's'}`;
}

/** Returns the columns of the embeddings of a model that compares them as they are; null for other encoders. */
export function embeddingWidth({ model: { encoder } }: SkeinConfig): number | null {
  const layers = encoder.layers.flat();
  return layers.length === 1 && layers[0].type === 'EMBEDDING' ? layers[0].output_dim : null;
}

/** Returns the keys that do not have the same value in all trials; of a single trial, all keys. */
export function varyingKeys(trials: readonly TrialValues[]): ReadonlySet<string> {
  const keys = new Set(trials.flatMap((values) => Object.keys(values)));
  if (trials.length === 1) return keys;
  const seen = (key: string): Set<string> =>
    new Set(trials.map((values) => JSON.stringify(values[key] ?? null)));
  return new Set([...keys].filter((key) => seen(key).size > 1));
}

/** Returns the values of some keys of a trial on one line, by the last name of each key. */
export function describeValues(values: TrialValues, keys: ReadonlySet<string>): string {
  const cells = Object.entries(values)
    .filter(([key]) => keys.has(key))
    .map(([key, value]) => `${shortKey(key)} ${typeof value === 'object' ? JSON.stringify(value) : value}`);
  // Keys that one dimension sets have the same name and value.
  return [...new Set(cells)].join('  ');
}

/** Returns the last names of a key that tell it apart: `regularizer.coef`, `batch_size`. */
export function shortKey(key: string): string {
  const names = key.split('.');
  const last = names[names.length - 1];
  return ['type', 'options', 'coef', 'weight'].includes(last) ? names.slice(-2).join('.') : last;
}
