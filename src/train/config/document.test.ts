import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { configJsonSchema } from '../json-schema.js';
import { documentConfig } from './document.js';

const doc = (name: string): string => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');

it('docs/configuration.md is up to date (npm run docs)', () => {
  expect(doc('configuration.md')).toBe(documentConfig());
});

it('docs/configuration.schema.json is up to date (npm run docs)', () => {
  expect(JSON.parse(doc('configuration.schema.json'))).toEqual(configJsonSchema());
});
