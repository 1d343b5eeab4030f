/** Gradients of several workers averaged in shared memory; the workers are callers in one thread here. */
import { GradientAverage, gradientMemory } from 'skein/gpu';
import { crossEntropy, Linear, parameter } from 'skein/nn';
import { fromTypedArray, gatherRows, manualSeed, randn, type Tensor, zeros } from 'skein/tensor';
import { CommError, DTypeError, ShapeError, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function layer(): Linear {
  manualSeed(4);
  return new Linear(5, 3);
}

function gradients(module: Linear): number[] {
  return module.parameters().flatMap((one) => [...(one.grad as Tensor).dataSync<Float32Array>()]);
}

/** One step of `sizes.length` workers over shares of the same 12 rows; `delays` are their arrival times. */
async function shared(sizes: readonly number[], delays: readonly number[]): Promise<number[][]> {
  manualSeed(9);
  const x = randn([12, 5]);
  const labels = Int32Array.from({ length: 12 }, (_, i) => i % 3);
  const memory = gradientMemory(sizes.length, layer().parameters());
  let start = 0;
  const workers = sizes.map(async (size, rank) => {
    const rows = Int32Array.from({ length: size }, (_, i) => start + i);
    start += size;
    const own = layer();
    if (size > 0)
      crossEntropy(
        own.forward(gatherRows(x, rows)),
        rows.map((row) => labels[row]),
      ).backward();
    const average = new GradientAverage(memory, { rank, parameters: own.parameters() });
    await later(delays[rank]);
    await average.step(size);
    return gradients(own);
  });
  return Promise.all(workers);
}

describe('GradientAverage', () => {
  it('gives every worker the gradient over all rows, in any order of arrival', async () => {
    const [alone] = await shared([12], [0]);
    const [first, second] = await shared([7, 5], [0, 20]);
    expect(second).toEqual(first);
    for (const [i, value] of first.entries()) expect(value).toBeCloseTo(alone[i], 6);
    expect((await shared([7, 5], [20, 0]))[0]).toEqual(first);
    const three = await shared([7, 0, 5], [5, 0, 0]);
    expect(three[1]).toEqual(first);
  });

  it('takes many steps, one barrier each', async () => {
    const parameters = () => [parameter(zeros([4]))];
    const memory = gradientMemory(2, parameters());
    const worker = async (rank: number) => {
      const [own] = parameters();
      const average = new GradientAverage(memory, { rank, parameters: [own] });
      const seen: number[] = [];
      for (let step = 0; step < 50; step++) {
        if ((step + rank) % 3 === 0) await later(1);
        own.grad = fromTypedArray(new Float32Array(4).fill(step + 10 * rank));
        await average.step();
        seen.push((own.grad as Tensor).dataSync()[3]);
      }
      return seen;
    };
    const wanted = Array.from({ length: 50 }, (_, step) => step + 5);
    expect(await Promise.all([worker(0), worker(1)])).toEqual([wanted, wanted]);
  });

  it('does not wait forever for a worker that has ended', async () => {
    const parameters = layer().parameters();
    const memory = gradientMemory(2, parameters);
    const patient = new GradientAverage(memory, { rank: 0, parameters });
    const other = new GradientAverage(memory, { rank: 1, parameters });
    const waiting = patient.step();
    other.fail();
    await expect(waiting).rejects.toThrow(/worker of rank 1 has ended/);
    const fresh = gradientMemory(2, parameters);
    const alone = new GradientAverage(fresh, { rank: 0, parameters, timeoutMs: 30 });
    await expect(alone.step()).rejects.toThrow(CommError);
  });

  it('rejects mismatched arguments', async () => {
    const parameters = layer().parameters();
    expect(() => gradientMemory(0, parameters)).toThrow(ValueError);
    expect(() => gradientMemory(2, [zeros([2], { dtype: 'f64' })])).toThrow(DTypeError);
    const memory = gradientMemory(2, parameters);
    expect(() => new GradientAverage(memory, { rank: 2, parameters })).toThrow(/rank/);
    expect(() => new GradientAverage(memory, { rank: 0, parameters: parameters.slice(1) })).toThrow(
      ShapeError,
    );
    await expect(new GradientAverage(memory, { rank: 0, parameters }).step(-1)).rejects.toThrow(/weight/);
  });
});
