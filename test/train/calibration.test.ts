/** Probabilities of edges: calibrated on held-out edges of generated data, the same in every process, refused without data. */
import { fitLinks, type LinkPredictor, openModel } from 'skein/predict';
import { Random } from 'skein/util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scratch } from './tiny.js';

const folder = scratch();
const groups = 6;
const users = 240;
const items = 180;

type Fact = [head: string, relation: string, tail: string];

/** Users like the items of their group, mostly, and avoid others; `held` were not trained on. */
function facts(count: number, seed: number): Fact[] {
  const random = new Random(seed);
  const found = new Map<string, Fact>();
  while (found.size < count) {
    const user = random.nextInt(users);
    const own = random.nextFloat() < 0.85;
    const item = own ? (user % groups) + groups * random.nextInt(items / groups) : random.nextInt(items);
    const relation = random.nextFloat() < 0.7 ? 'likes' : 'views';
    const fact: Fact = [`u${user}`, relation, `i${item}`];
    found.set(fact.join(), fact);
  }
  return [...found.values()];
}

const all = facts(5000, 1);
const held = all.slice(0, 600);
const trained = all.slice(600);
const known = new Set(all.map((fact) => fact.join()));

/** The held-out facts, and as many with a random item that are not facts. */
function questions(): {
  readonly edges: { head: string; relation: string; tail: string }[];
  truth: number[];
} {
  const random = new Random(99);
  const edges: { head: string; relation: string; tail: string }[] = [];
  const truth: number[] = [];
  for (const [head, relation, tail] of held) {
    edges.push({ head, relation, tail });
    truth.push(1);
    let other: string;
    do other = `i${random.nextInt(items)}`;
    while (known.has([head, relation, other].join()));
    edges.push({ head, relation, tail: other });
    truth.push(0);
  }
  return { edges, truth };
}

/** The expected calibration error over ten bins of equal width. */
function calibrationError(probabilities: ArrayLike<number>, truth: readonly number[]): number {
  const bins = Array.from({ length: 10 }, () => ({ count: 0, sum: 0, hits: 0 }));
  for (const [i, isTrue] of truth.entries()) {
    const bin = bins[Math.min(9, Math.floor(10 * probabilities[i]))];
    bin.count++;
    bin.sum += probabilities[i];
    bin.hits += isTrue;
  }
  return bins.reduce((total, { sum, hits }) => total + Math.abs(sum - hits), 0) / truth.length;
}

describe('a link model', () => {
  const directory = folder();
  let model: LinkPredictor;
  beforeAll(async () => {
    model = await fitLinks(trained, { directory, epochs: 4, split: [0.8, 0.15, 0.05] });
  });
  afterAll(() => model.close());

  it('gives probabilities that hold for edges it has not seen', async () => {
    expect(model.calibrated).toBe(true);
    const { edges, truth } = questions();
    const probabilities = await model.score(edges, { unit: 'probability' });
    const scores = await model.score(edges);
    expect(probabilities.every((p) => p > 0 && p < 1)).toBe(true);
    const error = calibrationError(probabilities, truth);
    const uncalibrated = calibrationError(
      scores.map((score) => 1 / (1 + Math.exp(-score))),
      truth,
    );
    expect(error).toBeLessThan(0.08);
    expect(error).toBeLessThan(uncalibrated);
    // Probabilities say something: the average of true edges is far above that of others.
    const mean = (wanted: number) =>
      probabilities.reduce((sum, p, i) => sum + (truth[i] === wanted ? p : 0), 0) / held.length;
    expect(mean(1) - mean(0)).toBeGreaterThan(0.3);
  });

  it('gives them with the answers of rank and recommend, in their order', async () => {
    const ranked = await model.rank({ head: 'u3', relation: 'likes' }, { k: 20 });
    const edges = ranked.map(({ name }) => ({ head: 'u3', relation: 'likes', tail: name }));
    const probabilities = await model.score(edges, { unit: 'probability' });
    expect(ranked.map(({ probability }) => Math.fround(probability as number))).toEqual([...probabilities]);
    for (let i = 1; i < ranked.length; i++)
      expect(ranked[i].probability).toBeLessThanOrEqual(ranked[i - 1].probability as number);
    const [best] = await model.recommend('u3', { relation: 'likes', k: 1 });
    expect(best).toEqual(ranked[0]);
    const [head] = await model.rank({ tail: 'i3', relation: 'likes' }, { k: 1 });
    expect(head.probability).toBeGreaterThan(0.5);
  });

  it('gives the same ones after it is opened again, whatever is asked first', async () => {
    const again = await openModel(directory);
    try {
      const question = { tail: 'i5', relation: 'views' };
      expect(await again.rank(question)).toEqual(await model.rank(question));
      const { edges } = questions();
      expect(await again.score(edges, { unit: 'probability' })).toEqual(
        await model.score(edges, { unit: 'probability' }),
      );
    } finally {
      await again.close();
    }
  });
});

it('is not calibrated with too few validation edges', async () => {
  const model = await fitLinks(trained.slice(0, 200), { epochs: 1, split: [0.9, 0.05, 0.05] });
  try {
    expect(model.calibrated).toBe(false);
    const [fact] = trained;
    const edge = { head: fact[0], relation: fact[1], tail: fact[2] };
    await expect(model.score(edge, { unit: 'probability' })).rejects.toThrow(
      'score: expected a calibrated model for unit, got a model of links that is not.',
    );
    expect((await model.rank({ head: fact[0], relation: fact[1] }, { k: 1 }))[0]).not.toHaveProperty(
      'probability',
    );
  } finally {
    await model.close();
  }
});
