/**
 * The contract of all samplers, as one suite: a sample depends on (seed, epoch, step) and the seeds alone, whatever
 * computes it, wherever, and in whatever order; bad seeds are refused and leave the sampler usable.
 */

import type { Sampler } from 'skein/sample';
import { ValueError } from 'skein/util';
import { expect, it } from 'vitest';
import { nativeKernels, referenceKernels, withKernels } from '#internal/native/index.js';

export interface ContractCase<Seeds, Sample> {
  readonly make: (seed: number) => Sampler<Seeds, Sample>;
  /** Seeds with enough choice that two draws differ. */
  readonly seeds: Seeds;
  readonly otherSeeds: Seeds;
  readonly noSeeds: Seeds;
  /** Seeds with an id that does not exist. */
  readonly badSeeds: Seeds;
  /** Everything in a sample, as plain data. */
  readonly contents: (sample: Sample) => unknown;
  /** The sample does not depend on chance, so two steps agree. */
  readonly fixed?: boolean;
}

export function samplerContract<Seeds, Sample>(test: ContractCase<Seeds, Sample>): void {
  const { make, seeds, otherSeeds, noSeeds, badSeeds, contents } = test;
  const at = { epoch: 2, step: 5 };

  it('gives the same sample for the same seed, epoch and step', () => {
    const sampler = make(1);
    const first = contents(sampler.sample(seeds, at));
    sampler.sample(otherSeeds, { step: 9 });
    expect(contents(sampler.sample(seeds, at))).toEqual(first);
    expect(contents(make(1).sample(seeds, at))).toEqual(first);
  });

  it.skipIf(test.fixed)('gives another sample for another seed, epoch or step', () => {
    const first = contents(make(1).sample(seeds, at));
    expect(contents(make(2).sample(seeds, at))).not.toEqual(first);
    expect(contents(make(1).sample(seeds, { epoch: 2, step: 6 }))).not.toEqual(first);
    expect(contents(make(1).sample(seeds, { epoch: 3, step: 5 }))).not.toEqual(first);
  });

  it('samples the same on other threads, many at once', async () => {
    const sampler = make(1);
    const steps = [0, 1, 2, 3, 4, 5, 6, 7];
    const samples = await Promise.all(
      steps.map((step) => sampler.sampleAsync(step % 2 === 0 ? seeds : otherSeeds, { step })),
    );
    for (const step of steps) {
      const expected = make(1).sample(step % 2 === 0 ? seeds : otherSeeds, { step });
      expect(contents(samples[step])).toEqual(contents(expected));
    }
  });

  it.skipIf(nativeKernels === null)('samples the same with the TypeScript kernels', () => {
    const twin = withKernels(referenceKernels, () => contents(make(1).sample(seeds, at)));
    expect(contents(make(1).sample(seeds, at))).toEqual(twin);
  });

  it('takes no seeds', () => {
    expect(() => contents(make(1).sample(noSeeds, at))).not.toThrow();
  });

  it('rejects ids that do not exist, and stays usable', async () => {
    const sampler = make(1);
    const before = contents(sampler.sample(seeds, at));
    expect(() => sampler.sample(badSeeds, at)).toThrow(ValueError);
    await expect(sampler.sampleAsync(badSeeds, at)).rejects.toThrow(ValueError);
    expect(contents(sampler.sample(seeds, at))).toEqual(before);
  });

  it('rejects a step or an epoch that is not a count', () => {
    expect(() => make(1).sample(seeds, { step: -1 })).toThrow(/step/);
    expect(() => make(1).sample(seeds, { step: 0.5 })).toThrow(/step/);
    expect(() => make(1).sample(seeds, { epoch: Number.NaN, step: 0 })).toThrow(/epoch/);
  });
}
