/**
 * The interface of all samplers: seeds in, a batch out, decided by (seed, epoch, step) and the seeds alone.
 *
 * A sampler has no position: `sample` with the same arguments returns the same batch, in any order and on any thread.
 * Loaders count epochs and steps.
 */
import { checkInteger } from '../util/errors.js';
import { Random } from '../util/philox.js';

/** The position of a draw: batch `step` of epoch `epoch`. */
export interface SampleTime {
  readonly epoch?: number;
  readonly step: number;
}

export interface Sampler<Seeds, Sample> {
  sample(seeds: Seeds, at?: SampleTime): Sample;
  /** Samples on the addon's threads. Several calls may be in flight; seeds are read immediately. */
  sampleAsync(seeds: Seeds, at?: SampleTime): Promise<Sample>;
}

/** Key and step in the form that kernels take. */
export interface DrawTime {
  readonly key: Uint32Array;
  readonly step: number;
}

/** Independent uses of one seed. */
export const purposes = { neighbors: 0, walks: 1, negatives: 2, order: 3, temporal: 4 } as const;

/** The keys of a sampler, one per epoch. */
export class DrawKeys {
  readonly #where: string;
  readonly #root: Random;
  #epoch = -1;
  #key: Uint32Array = new Uint32Array(4);

  constructor(where: string, seed: number, purpose: number) {
    this.#where = where;
    this.#root = new Random(checkInteger(where, 'seed', seed), purpose);
  }

  at(time: SampleTime | undefined): DrawTime {
    const epoch = checkInteger(this.#where, 'epoch', time?.epoch ?? 0);
    const step = checkInteger(this.#where, 'step', time?.step ?? 0, 0, 2 ** 32 - 1);
    if (epoch !== this.#epoch) {
      this.#key = this.#root.split(epoch).key;
      this.#epoch = epoch;
    }
    return { key: this.#key, step };
  }
}

/** Returns the integer below 2^32 such that a random word is smaller with probability p. */
export function wordThreshold(p: number): number {
  return Math.min(Math.ceil(p * 2 ** 32), 2 ** 32 - 1);
}
