import { expect, it } from 'vitest';
import { toOptionNames } from './option-names.js';

it.each([
  [
    'preprocess: expected noRemapIds too (ids …) for numNodes, got 4.',
    '--no-remap-ids too',
    'for --num-nodes,',
  ],
  ['preprocess: expected 268435456 … for memoryLimit, got 5.', 'for --memory-limit, got'],
  ['The system may have been out of memory: lower memoryLimit.', 'lower --memory-limit.'],
  ['preprocess: expected nodeTable too for labelColumn, got "x".', '--node-table too for --label-column,'],
  ['expected either files or queries for edges and query, got "0 and 0".', 'for --edges and --query, got'],
  ['expected fractions that add up to 1 for split, got "1".', 'for --dataset-split, got'],
  ['expected a number from 0 to 1 for a fraction of split, got 2.', 'a fraction of --dataset-split, got'],
  ['t.csv: expected one of … for idColumn (--id-column), got "a".', 'for --id-column, got'],
])('%s', (message, ...parts) => {
  for (const part of parts) expect(toOptionNames(message)).toContain(part);
});

it.each([
  'preprocess: expected to read /data/nodeTable/memoryLimit.csv, got ENOENT. Check the path.',
  'memoryLimit.csv:2: expected a whole number, got "noRemapIds".',
  'e.csv:2: expected a name for the source id, got "".',
  'expected Skein for JavaScript, got DuckDB.',
])('%s stays', (message) => {
  expect(toOptionNames(message)).toBe(message);
});
