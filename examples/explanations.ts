/**
 * Measures explanations on graphs and streams whose reasons were planted: how often the reason is found, how much answers depend
 * on it, and whether a model with random parameters is explained differently.
 *   npm run example -- explanations [--seed 3] [--json]
 */
import {
  cycleGraph,
  houseGraph,
  type Measured,
  measureRoles,
  measureRule,
  measureTrigger,
} from './shared/planted-reasons.js';
import { startExample } from './shared/report.js';

const example = startExample();
const seed = Math.max(1, example.seed);
const rule = await measureRule({ seed });
const measured: Measured[] = [
  await measureRoles('house, mask', houseGraph(seed), { seed }),
  await measureRoles('house, gradient', houseGraph(seed), { seed, method: 'gradient' }),
  await measureRoles('cycle, mask', cycleGraph(seed), { seed }),
  await measureRoles('cycle, gradient', cycleGraph(seed), { seed, method: 'gradient' }),
  ...[rule.paths, rule.facts, await measureTrigger({ seed })],
];
const cell = (value: number | null): string => (value === null ? '–' : value.toFixed(2)).padStart(9);
const columns = ['quality', 'found', 'control', 'sanity', 'fidelity+', 'fidelity-', 'sparsity'];
example.finish({ measured }, () =>
  [
    ['reason'.padEnd(16), ...columns.map((name) => name.padStart(9))].join(' '),
    ...measured.map((row) =>
      [
        row.name.padEnd(16),
        ...[row.quality, row.found, row.control, row.sanity, row.plus, row.minus, row.sparsity].map(cell),
      ].join(' '),
    ),
  ].join('\n'),
);
