/** The training loop over a custom task: epochs, resuming anywhere, early stopping, the best state, requests. */
import { manualSeed } from 'skein/tensor';
import { type FitOptions, fit, type Metrics } from 'skein/train';
import { describe, expect, it, vi } from 'vitest';
import type { FitState } from '#internal/train/fit.js';
import { GraphsTask, ringsAndStars } from './own-task.js';

const graphs = {
  train: ringsAndStars(24, 1),
  validation: ringsAndStars(12, 2),
  test: ringsAndStars(20, 3),
};

function newTask(): GraphsTask {
  manualSeed(4);
  return new GraphsTask(graphs);
}

const numbers = ({ model }: GraphsTask): number[][] => model.parameters().map((p) => [...p.dataSync()]);

const methods = () =>
  Object.fromEntries(['train', 'evaluate', 'snapshot', 'restore'].map((name) => [name, () => {}]));

/** Gives these values of the metric, one an evaluation. */
function evaluations(values: readonly number[]): () => Promise<Metrics> {
  let at = 0;
  return async () => ({ accuracy: values[at++] });
}

it('trains a task over whole graphs', async () => {
  const task = newTask();
  const { epochs, stopped, loss, best } = await fit(task, { epochs: 30 });
  expect({ epochs, stopped }).toEqual({ epochs: 30, stopped: 'finished' });
  expect(loss).toBeLessThan(0.4);
  expect(best?.value).toBeGreaterThan(0.8);
  expect((await task.evaluate('test')).accuracy).toBeGreaterThan(0.8);
});

it('calls its hooks in order, with what happened', async () => {
  const seen: string[] = [];
  await fit(newTask(), {
    epochs: 2,
    onEpochStart: (epoch, items, done) => void seen.push(`start ${epoch} ${items} ${done}`),
    onStep: ({ batches }) => void (batches === 24 && seen.push('last step')),
    onEpoch: ({ epoch, items, batches }) => void seen.push(`epoch ${epoch} ${items} ${batches}`),
    onEvaluation: (epoch, metrics) => void seen.push(`evaluation ${epoch} ${Object.keys(metrics)}`),
    onEpochEnd: async ({ position }, isLast) => void seen.push(`end ${position.epoch} ${isLast}`),
  });
  expect(seen).toEqual([
    ...['start 1 24 0', 'last step', 'epoch 1 24 24', 'evaluation 1 accuracy', 'end 1 false'],
    ...['start 2 24 0', 'last step', 'epoch 2 24 24', 'evaluation 2 accuracy', 'end 2 true'],
  ]);
});

describe('requests', () => {
  it('stop: ends after the batch; resuming from there gives the bits of training that was not stopped', async () => {
    const whole = newTask();
    const { loss } = await fit(whole, { epochs: 3 });
    const task = newTask();
    const stopped = await fit(task, {
      epochs: 3,
      request: ({ position: { epoch, step } }) => (epoch === 1 && step === 7 ? 'stop' : 'continue'),
    });
    expect(stopped).toMatchObject({ stopped: 'interrupted', epochs: 1, position: { epoch: 1, step: 7 } });
    expect(stopped.progress).toMatchObject({ batches: 7, items: 7 });
    const resumed = await fit(task, { epochs: 3, from: stopped });
    expect(resumed.loss).toBe(loss);
    expect(numbers(task)).toEqual(numbers(whole));
  });

  it('save: is called with the place; batches that were read ahead are drawn again', async () => {
    const task = newTask();
    const starts: unknown[] = [];
    const { train } = task.batches;
    vi.spyOn(train, 'epoch');
    const saved: FitState['position'][] = [];
    const options: FitOptions = {
      epochs: 1,
      request: ({ position }) => (position.step % 10 === 0 ? 'save' : 'continue'),
      onSave: async ({ position }) => void saved.push(position),
    };
    await fit(task, options);
    starts.push(...vi.mocked(train.epoch).mock.calls.map(([epoch, from]) => [epoch, from?.step ?? 0]));
    expect(saved).toEqual([
      { epoch: 0, step: 10 },
      { epoch: 0, step: 20 },
    ]);
    expect(starts).toEqual([[0, 0]]);
    const ahead = newTask();
    Object.assign(ahead.batches.train, { readsAhead: true });
    vi.spyOn(ahead.batches.train, 'epoch');
    await fit(ahead, options);
    expect(vi.mocked(ahead.batches.train.epoch).mock.calls.map(([, from]) => from?.step ?? 0)).toEqual([
      0, 10, 20,
    ]);
    expect(numbers(ahead)).toEqual(numbers(task));
  });
});

describe('early stopping', () => {
  it('ends with the state of the best epoch', async () => {
    const task = newTask();
    let atBest: number[][] = [];
    const result = await fit(task, {
      epochs: 10,
      patience: 2,
      evaluate: evaluations([0.5, 0.7, 0.7, 0.6]),
      onEpochEnd: async ({ position }) => {
        if (position.epoch === 2) atBest = numbers(task);
      },
    });
    expect(result).toMatchObject({
      stopped: 'early',
      epochs: 4,
      best: { epoch: 2, value: 0.7 },
      restored: true,
    });
    expect(numbers(task)).toEqual(atBest);
  });

  it.each([
    ['by more than minDelta', { minDelta: 0.2 }, [0.5, 0.6, 0.65], 1],
    ['less is better of a loss', { metric: 'loss' }, [0.5, 0.4, 0.45], 2],
    ['a second metric decides between equals', { metric: ['tie', 'accuracy'] }, [0.5, 0.6, 0.6], 2],
  ] as const)('%s', async (_, options, values, best) => {
    let at = 0;
    const evaluate = async () => ({ accuracy: values[at], loss: values[at++], tie: 1 });
    const result = await fit(newTask(), { epochs: 3, patience: 5, evaluate, ...options });
    expect(result.best?.epoch).toBe(best);
  });

  it('an evaluation without a value is never the best', async () => {
    const task = newTask();
    const given = { epochs: 3, patience: 5, evaluate: evaluations([Number.NaN, 0.4, 0.3]) };
    expect(await fit(task, given)).toMatchObject({ best: { epoch: 2, value: 0.4 }, restored: true });
    const none = await fit(newTask(), {
      ...given,
      patience: 2,
      evaluate: evaluations([Number.NaN, Number.NaN]),
    });
    expect(none).toMatchObject({ stopped: 'early', epochs: 2, best: null, restored: false });
    const from = { best: { epoch: 0, value: null as unknown as number } };
    const resumed = await fit(newTask(), { ...given, epochs: 1, from, evaluate: evaluations([0.2]) });
    expect(resumed.best).toEqual({ epoch: 1, value: 0.2 });
  });

  it('evaluates every so many epochs, and after the last', async () => {
    const at: number[] = [];
    await fit(newTask(), { epochs: 5, evaluateEvery: 2, onEvaluation: (epoch) => void at.push(epoch) });
    expect(at).toEqual([2, 4, 5]);
  });
});

describe('what is wrong is named', () => {
  it('a loss that is not finite', async () => {
    const task = newTask();
    task.train = () => ({ loss: Number.NaN, items: 1 });
    await expect(fit(task)).rejects.toThrow('expected a finite loss, got NaN in epoch 1, batch 1');
  });

  it('a metric that evaluation does not give', async () => {
    await expect(fit(newTask(), { metric: 'mrr' })).rejects.toThrow(
      'expected one of accuracy for the deciding metric',
    );
  });

  it.each([
    [null, 'a task with the method train for task, got null'],
    [{}, 'a task with the method train for task'],
    [{ ...methods(), batches: {} }, 'batches.train with the method epoch'],
  ])('no task: %o', async (given, message) => {
    await expect(fit(given as unknown as GraphsTask)).rejects.toThrow(message);
  });

  it('a misspelt option', async () => {
    await expect(fit(newTask(), { epoch: 3 } as FitOptions)).rejects.toThrow(/epoch/);
  });
});

describe('metrics of which less is better', () => {
  const falling = async (name: string, options: FitOptions): Promise<number | undefined> => {
    const values = [5, 4, 3, 2];
    let at = 0;
    const evaluate = async (): Promise<Metrics> => ({ [name]: values[at++] });
    const { best } = await fit(newTask(), { epochs: 4, metric: name, evaluate, ...options });
    return best?.epoch;
  };

  it.each(['mse', 'loss', 'mr'])('%s falls', async (name) => {
    expect(await falling(name, {})).toBe(4);
  });

  it('others rise unless it is said', async () => {
    expect(await falling('my_error', {})).toBe(1);
    expect(await falling('my_error', { lowerIsBetter: ['my_error'] })).toBe(4);
  });
});

describe('switches of the loop', () => {
  it('minEpochs: patience ends training only after them; minValue ends it if it is not reached', async () => {
    const falling = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4];
    const waits = await fit(newTask(), {
      ...{ epochs: 6, patience: 1, minEpochs: 4, best: 'none', evaluate: evaluations(falling) },
    });
    expect(waits).toMatchObject({ stopped: 'early', epochs: 4, best: { epoch: 1 } });
    const low = { epochs: 6, minEpochs: 2, best: 'none' } as const;
    const values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
    const ends = await fit(newTask(), { ...low, minValue: 0.25, evaluate: evaluations(values) });
    expect(ends).toMatchObject({ stopped: 'early', epochs: 2 });
    const goesOn = await fit(newTask(), { ...low, minValue: 0.2, evaluate: evaluations(values) });
    expect(goesOn).toMatchObject({ stopped: 'finished', epochs: 6 });
  });

  it('plateau: multiplies the rates after evaluations without improvement, and resumes with its state', async () => {
    const plateau = { factor: 0.5, patience: 1, threshold: 0.01 };
    // 0.502 is not a percent better than 0.5.
    const values = [0.5, 0.502, 0.4, 0.4, 0.4, 0.6];
    const ratesOf = async (stops: readonly number[]) => {
      const task = newTask();
      const rates: number[] = [];
      Object.assign(task, { scaleRates: (factor: number) => void rates.push(factor) });
      let state: FitState | undefined;
      for (const epochs of [...stops, 6]) {
        const evaluate = evaluations(values.slice(state?.position.epoch ?? 0));
        const from = state === undefined ? {} : { from: JSON.parse(JSON.stringify(state)) };
        const {
          position,
          progress,
          best,
          stale,
          validation,
          plateau: saved,
        } = await fit(task, {
          ...{ epochs, plateau, evaluate, best: 'none', schedule: () => 0.1, ...from },
        });
        state = { position, progress, best, stale, validation, ...(saved && { plateau: saved }) };
      }
      return rates;
    };
    const whole = await ratesOf([]);
    expect(whole).toEqual([0.1, 0.1, 0.1, 0.05, 0.05, 0.025]);
    expect(await ratesOf([2, 4])).toEqual(whole);
  });

  it('limitEpochs: lowers the epochs, which the schedule sees; the last one is evaluated', async () => {
    const seen: string[] = [];
    const task = newTask();
    const result = await fit(task, {
      epochs: 10,
      evaluateEvery: 4,
      limitEpochs: async ({ position }) => (position.epoch === 1 && position.step === 3 ? 3 : undefined),
      schedule: (epoch, epochs) => {
        seen.push(`${epoch}/${epochs}`);
        return 1;
      },
      onEvaluation: (epoch) => void seen.push(`evaluated ${epoch}`),
    });
    expect(result).toMatchObject({ stopped: 'finished', epochs: 3 });
    expect(seen).toEqual(['0/10', '1/10', '2/3', 'evaluated 3']);
    const began = await fit(newTask(), {
      epochs: 5,
      limitEpochs: ({ position }) => (position.epoch === 2 ? 1 : undefined),
    });
    expect(began.epochs).toBe(2);
  });
});
