import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { documentConfig } from './document.js';

it('docs/configuration.md is up to date (npm run docs)', () => {
  const path = new URL('../../../docs/configuration.md', import.meta.url);
  expect(readFileSync(path, 'utf8')).toBe(documentConfig());
});
