/**
 * Averages the gradients of several workers, one per device, in shared memory: every worker writes its gradients and
 * reads the sum over all, added in order of rank in 64-bit arithmetic. So all workers get the same bits in any order of
 * arrival, and a step equals the step of one device over all their seeds up to rounding.
 *
 * Workers are threads of one process; for processes and machines see skein/dist. Two slots alternate, so one barrier
 * per step is enough: a worker that writes step t + 2 has passed the barrier of step t + 1, which all reach after
 * reading step t.
 */
import { fromTypedArray, type Tensor } from '../../tensor/index.js';
import { unscoped } from '../../tensor/scope.js';
import { CommError, checkInteger, checkNumber, DTypeError, expected, ShapeError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

/** Indices of the words at the start of the memory. */
const word = { workers: 0, values: 1, arrived: 2, round: 3, failed: 4, count: 8 } as const;

/** Allocates memory for the `GradientAverage` of `numWorkers` workers; created once and passed to each of them. */
export function gradientMemory(numWorkers: number, parameters: readonly Tensor[]): SharedArrayBuffer {
  checkInteger('gradientMemory', 'numWorkers', numWorkers, 1, 1024);
  const values = countValues('gradientMemory', parameters);
  const memory = new SharedArrayBuffer(4 * word.count + 2 * numWorkers * (8 + 4 * values));
  const control = new Int32Array(memory, 0, word.count);
  control[word.workers] = numWorkers;
  control[word.values] = values;
  return memory;
}

function countValues(where: string, parameters: readonly Tensor[]): number {
  const other = parameters.find((parameter) => parameter.dtype !== 'f32');
  if (other !== undefined)
    throw new DTypeError(expected(where, 'f32', 'the dtype of parameters', other.dtype));
  return parameters.reduce((sum, parameter) => sum + parameter.size, 0);
}

export interface GradientAverageOptions {
  /** Rank of this worker, from 0. */
  readonly rank: number;
  readonly parameters: readonly Tensor[];
  /** Maximum wait for the other workers (default 60,000). */
  readonly timeoutMs?: number;
}

/**
 * The average as seen by one worker.
 *
 * @example
 * const average = new GradientAverage(memory, { rank, parameters: model.parameters() });
 * loss.backward();
 * await average.step(seeds.length);
 * optimizer.step();
 */
export class GradientAverage {
  readonly rank: number;
  readonly numWorkers: number;
  readonly #parameters: readonly Tensor[];
  readonly #timeoutMs: number;
  readonly #control: Int32Array;
  readonly #weights: Float64Array;
  readonly #values: Float32Array;
  readonly #numValues: number;
  #steps = 0;

  constructor(memory: SharedArrayBuffer, options: GradientAverageOptions) {
    checkOptionNames('GradientAverage', options, { rank: true, parameters: true, timeoutMs: true });
    const where = 'GradientAverage';
    this.#control = new Int32Array(memory, 0, word.count);
    this.numWorkers = this.#control[word.workers];
    this.#numValues = this.#control[word.values];
    this.rank = checkInteger(where, 'rank', options.rank, 0, this.numWorkers - 1);
    this.#parameters = options.parameters;
    this.#timeoutMs = checkNumber(where, 'timeoutMs', options.timeoutMs ?? 60_000, 1);
    const values = countValues(where, this.#parameters);
    if (values !== this.#numValues)
      throw new ShapeError(expected(where, `${this.#numValues} values in all`, 'parameters', values));
    const weightsAt = 4 * word.count;
    this.#weights = new Float64Array(memory, weightsAt, 2 * this.numWorkers);
    this.#values = new Float32Array(memory, weightsAt + 16 * this.numWorkers);
  }

  /**
   * Replaces this worker's gradients by the mean over all workers, weighted by `weight`: the number of seeds when the
   * loss is their mean. A worker that has no seeds left participates with weight 0. Every worker calls it once per
   * step.
   */
  async step(weight = 1): Promise<void> {
    checkNumber('GradientAverage.step', 'weight', weight, 0);
    const turn = this.#steps++ % 2;
    this.#weights[turn * this.numWorkers + this.rank] = weight;
    await this.#write(this.#slot(turn, this.rank));
    await this.#meet();
    this.#readMean(turn);
  }

  /** Reports to the others that this worker ends, so that they do not wait for it. */
  fail(): void {
    Atomics.store(this.#control, word.failed, this.rank + 1);
    Atomics.add(this.#control, word.round, 1);
    Atomics.notify(this.#control, word.round);
  }

  #slot(turn: number, rank: number): Float32Array {
    const start = (turn * this.numWorkers + rank) * this.#numValues;
    return this.#values.subarray(start, start + this.#numValues);
  }

  async #write(slot: Float32Array): Promise<void> {
    let at = 0;
    for (const parameter of this.#parameters) {
      const place = slot.subarray(at, at + parameter.size);
      at += parameter.size;
      await writeGradient(parameter, place);
    }
  }

  #readMean(turn: number): void {
    const weights = this.#weights.subarray(turn * this.numWorkers, (turn + 1) * this.numWorkers);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const slots = Array.from(weights, (_, rank) => this.#slot(turn, rank));
    let at = 0;
    for (const parameter of this.#parameters) {
      const mean = new Float32Array(parameter.size);
      for (let i = 0; i < mean.length; i++, at++) {
        let sum = 0;
        for (let rank = 0; rank < slots.length; rank++)
          if (weights[rank] > 0) sum += weights[rank] * slots[rank][at];
        mean[i] = total > 0 ? sum / total : 0;
      }
      setGradient(parameter, mean);
    }
  }

  /** Returns when all workers have arrived. */
  async #meet(): Promise<void> {
    const control = this.#control;
    const round = Atomics.load(control, word.round);
    // After reading the round: a failure from now on changes it.
    this.#checkOthers();
    if (Atomics.add(control, word.arrived, 1) + 1 === this.numWorkers) {
      Atomics.store(control, word.arrived, 0);
      Atomics.add(control, word.round, 1);
      Atomics.notify(control, word.round);
    }
    const end = performance.now() + this.#timeoutMs;
    while (Atomics.load(control, word.round) === round) {
      const left = end - performance.now();
      if (left <= 0) {
        const came = Atomics.load(control, word.arrived);
        throw new CommError(
          `GradientAverage.step: expected all ${this.numWorkers} workers within ${this.#timeoutMs} ms, but ${came} came.`,
          { rank: this.rank },
        );
      }
      await change(control, word.round, round, left);
    }
    this.#checkOthers();
  }

  #checkOthers(): void {
    const failed = Atomics.load(this.#control, word.failed);
    if (failed > 0)
      throw new CommError(
        `GradientAverage.step: the worker of rank ${failed - 1} has ended, so there is no average. Restart all workers.`,
        {
          rank: failed - 1,
        },
      );
  }
}

/** Writes a dense or sparse gradient to `out`. */
async function writeGradient(parameter: Tensor, place: Float32Array): Promise<void> {
  if (parameter.ownGrad === null) place.fill(0);
  else place.set((await parameter.ownGrad.data()) as Float32Array);
  parameter.sparseGrad?.addTo(place);
}

function setGradient(parameter: Tensor, values: Float32Array): void {
  parameter.zeroGrad();
  unscoped(() => {
    const mean = fromTypedArray(values, parameter.shape);
    parameter.setOwnGrad(parameter.device === null ? mean : mean.to(parameter.device));
  });
}

type WaitAsync = (
  array: Int32Array,
  index: number,
  value: number,
) => { readonly async: boolean; readonly value: unknown };

/** Resolves when the word is no longer `value`, or after some time; the caller checks again. */
async function change(
  control: Int32Array,
  index: number,
  value: number,
  milliseconds: number,
): Promise<void> {
  const { waitAsync } = Atomics as unknown as { readonly waitAsync?: WaitAsync };
  // Without Atomics.waitAsync, poll every millisecond.
  const patience = waitAsync === undefined ? 1 : milliseconds;
  let timer: ReturnType<typeof setTimeout> | undefined;
  // The timer also keeps a thread alive that has nothing else to do.
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, patience);
  });
  const told = waitAsync?.(control, index, value);
  await (told === undefined ? timeout : Promise.race([told.async ? told.value : undefined, timeout]));
  clearTimeout(timer);
}
