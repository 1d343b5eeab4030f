/** Planted reasons of node classes: edges of houses and cycles, and explanations of models with random parameters. */
import { fitNodes } from 'skein/predict';
import { expect, it } from 'vitest';
import {
  cycleGraph,
  houseGraph,
  type Measured,
  measureRoles,
} from '../../examples/shared/planted-reasons.js';

function expectFaithful({ quality, found, sanity, plus, minus }: Measured): void {
  // Below this the model has not learned the roles, so that there is nothing to explain.
  expect(quality).toBeGreaterThan(0.9);
  // Measured: 0.91 for both; processors with other instructions round differently.
  expect(found).toBeGreaterThan(0.87);
  // A model with random parameters has other reasons among edges at equal distance.
  expect(sanity).toBeLessThan(0.5);
  // Without the reasons the class loses most of its probability, with them alone little of it.
  expect(plus).toBeGreaterThan(0.6);
  expect(plus - minus).toBeGreaterThan(0.3);
}

it('masks rank the edges of houses on a Barabási–Albert graph above others', async () => {
  expectFaithful(await measureRoles('house', houseGraph(1)));
}, 120_000);

it('masks rank the edges of cycles on a tree above others', async () => {
  expectFaithful(await measureRoles('cycle', cycleGraph(1)));
}, 120_000);

it('explains by features where there are no graph layers, and names classes and columns', async () => {
  const nodes = Array.from({ length: 60 }, (_, i) => ({
    ...{ id: `n${i}`, size: i % 2, noise: (i * 7) % 5, colour: ['red', 'blue'][i % 2] },
    kind: i % 2 ? 'odd' : 'even',
  }));
  const edges = nodes.map(({ id }, i): [string, string] => [id, `n${(i + 1) % 60}`]);
  const model = await fitNodes(
    { nodes, edges },
    {
      ...{ label: 'kind', epochs: 60 },
      config: {
        'model.encoder.layers': [[{ type: 'FEATURE', output_dim: 4 }], [{ type: 'DENSE', output_dim: 2 }]],
      },
    },
  );
  const one = await model.explain('n3', { method: 'gradient' });
  expect(one).toMatchObject({ kind: 'node', node: 'n3', class: 'odd', edges: [] });
  expect(one.features.map(({ name }) => name).sort()).toEqual([
    'colour = blue',
    'colour = red',
    'noise',
    'size',
  ]);
  const most = one.features.reduce((a, b) => (Math.abs(b.weight) > Math.abs(a.weight) ? b : a));
  expect(most.name).not.toBe('noise');
  expect(one.fidelity).toEqual({ unit: 'probability', plus: 0, minus: 0, sparsity: 0 });
  const masked = await model.explain('n3', { steps: 10, class: 'even' });
  expect(masked.class).toBe('even');
  expect(masked.probability).toBeCloseTo(1 - one.probability, 5);
  await model.close();
}, 60_000);
