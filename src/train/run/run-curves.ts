/** The course of a run, read from metrics.jsonl: losses, evaluations and times by epoch. */
import { join } from 'node:path';
import { type MetricsRecord, metricsOf, readCompleteRecords } from './metrics-file.js';

export interface RunCurves {
  readonly epochs: readonly EpochPoint[];
  readonly evaluations: readonly EvaluationPoint[];
}

export interface EpochPoint {
  readonly epoch: number;
  readonly loss: number;
  readonly seconds: number;
  /** Trained edges, nodes or events per second. */
  readonly rate: number;
  /** Bytes of the process at the end of the epoch; NaN in runs that did not record it. */
  readonly memory: number;
  /** Seconds of each stage, such as sampling and computing. */
  readonly stages: Readonly<Record<string, number>>;
  /** The workers of a run, by rank; empty for one worker. */
  readonly workers: readonly WorkerPoint[];
}

export interface WorkerPoint {
  readonly memory: number;
  readonly stages: Readonly<Record<string, number>>;
}

export interface EvaluationPoint {
  readonly set: string;
  readonly epoch: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/** Reads the curves of a run. Epochs that a resumed run trained again count once, as they were trained last. */
export function readCurves(directory: string): RunCurves {
  const curves = new CurveCollector();
  for (const record of readCompleteRecords(join(directory, 'metrics.jsonl'))) curves.add(record);
  return curves.curves;
}

/** Collects curves from records in the order in which they were written. */
export class CurveCollector {
  #epochs: EpochPoint[] = [];
  #evaluations: EvaluationPoint[] = [];
  /** The highest epoch so far. */
  #highest = Number.NEGATIVE_INFINITY;

  get curves(): RunCurves {
    return { epochs: this.#epochs, evaluations: this.#evaluations };
  }

  add(record: MetricsRecord): void {
    const { event, set, epoch } = record;
    if (typeof epoch !== 'number') return;
    if (event === 'epoch') {
      if (epoch <= this.#highest) this.#forgetFrom(epoch);
      this.#epochs.push(pointOf(record, epoch));
    } else if (event === 'eval' && typeof set === 'string')
      this.#evaluations.push({ set, epoch, metrics: metricsOf(record) });
    else return;
    this.#highest = Math.max(this.#highest, epoch);
  }

  /** Drops what a resumed run trains again. */
  #forgetFrom(epoch: number): void {
    this.#epochs = this.#epochs.filter((one) => one.epoch < epoch);
    this.#evaluations = this.#evaluations.filter((one) => one.set !== 'validation' || one.epoch < epoch);
    this.#highest = epoch;
  }
}

function pointOf(record: MetricsRecord, epoch: number): EpochPoint {
  const { loss, seconds, items_per_second: rate, memory, stages, workers } = record;
  return {
    epoch,
    loss: numberOf(loss),
    seconds: numberOf(seconds),
    rate: numberOf(rate),
    memory: numberOf(memory),
    stages: stagesOf(stages),
    workers: Array.isArray(workers) ? workers.map((one: unknown) => workerPoint(one)) : [],
  };
}

function workerPoint(worker: unknown): WorkerPoint {
  const { memory, stages } = (worker ?? {}) as Partial<Record<keyof WorkerPoint, unknown>>;
  return {
    memory: numberOf(memory),
    stages: stagesOf(stages),
  };
}

/** Returns the object itself if it has only numbers, as usual: copies for many epochs take longer than reading them. */
function stagesOf(stages: unknown): Readonly<Record<string, number>> {
  if (typeof stages !== 'object' || stages === null || Array.isArray(stages)) return {};
  const values = stages as Readonly<Record<string, unknown>>;
  for (const name in values)
    if (typeof values[name] !== 'number')
      return Object.fromEntries(Object.entries(values).map(([stage, value]) => [stage, numberOf(value)]));
  return values as Readonly<Record<string, number>>;
}

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : Number.NaN);
