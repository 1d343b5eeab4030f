/** The JSON Schema for editors takes the files that training takes, and calls a misspelt key wrong. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from 'skein/train';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderConfig } from '#internal/train/config/config-file.js';
import { configTemplate } from '#internal/train/config/template.js';
import { configJsonSchema } from '#internal/train/json-schema.js';
import { temporalTemplate } from '#internal/train/tasks/events/temporal-template.js';

type Schema = Readonly<Record<string, unknown>>;
const root = configJsonSchema();

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

/** The keywords that the schema uses; an unknown one fails, so that nothing passes unread. */
const keywords: Readonly<Record<string, (given: never, value: unknown, schema: Schema) => boolean>> = {
  type: (given: string | string[], value) =>
    [given].flat().some((type) => type === typeOf(value) || (type === 'integer' && Number.isInteger(value))),
  enum: (given: unknown[], value) => given.includes(value),
  const: (given: unknown, value) => given === value,
  pattern: (given: string, value) => typeof value !== 'string' || new RegExp(given).test(value),
  minimum: (given: number, value) => typeof value !== 'number' || value >= given,
  maximum: (given: number, value) => typeof value !== 'number' || value <= given,
  exclusiveMinimum: (given: number, value) => typeof value !== 'number' || value > given,
  exclusiveMaximum: (given: number, value) => typeof value !== 'number' || value < given,
  minItems: (given: number, value) => !Array.isArray(value) || value.length >= given,
  maxItems: (given: number, value) => !Array.isArray(value) || value.length <= given,
  items: (given: Schema, value) => !Array.isArray(value) || value.every((item) => fits(given, item)),
  required: (given: string[], value) =>
    typeOf(value) !== 'object' || given.every((key) => key in (value as object)),
  properties: (given: Record<string, Schema>, value) =>
    typeOf(value) !== 'object' ||
    Object.entries(value as object).every(([key, item]) => !(key in given) || fits(given[key], item)),
  additionalProperties: (_given, value, schema) =>
    typeOf(value) !== 'object' ||
    Object.keys(value as object).every((key) => key in (schema['properties'] as object)),
  anyOf: (given: Schema[], value) => given.some((member) => fits(member, value)),
  if: (given: Schema, value, schema) => fits(schema[fits(given, value) ? 'then' : 'else'] as Schema, value),
  $ref: (given: string, value) =>
    fits((root['$defs'] as Record<string, Schema>)[given.replace('#/$defs/', '')], value),
};
const silent = ['$schema', '$defs', 'title', 'description', 'default', 'deprecated', 'then', 'else'];

function fits(schema: Schema, value: unknown): boolean {
  return Object.entries(schema).every(([keyword, given]) => {
    if (silent.includes(keyword)) return true;
    if (!(keyword in keywords)) throw new Error(`unknown keyword ${keyword}`);
    return keywords[keyword](given as never, value, schema);
  });
}

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const files = ['examples', 'examples/temporal', 'test/fixtures/config'].flatMap((folder) =>
  readdirSync(path(folder))
    .filter((name) => /\.ya?ml$/.test(name) && name !== 'first-release.yaml')
    .map((name) => join(folder, name)),
);
const read = (name: string): Record<string, unknown> => parse(readFileSync(path(name), 'utf8'));

describe('takes', () => {
  it.each(files)('%s', (name) => {
    expect(fits(root, read(name))).toBe(true);
  });

  it('configurations written by training, and templates', () => {
    const written = renderConfig(loadConfig(path('test/fixtures/config/partition-buffer.yaml')).config);
    expect(fits(root, parse(written))).toBe(true);
    expect(fits(root, parse(configTemplate({ dataset: 'd', task: 'NODE_CLASSIFICATION' })))).toBe(true);
    expect(fits(root, parse(temporalTemplate({ name: 'wikipedia' })))).toBe(true);
  });

  it('kinds of temporal models, by name or with their keys, and those of plugins', () => {
    const file = { dataset: 'wikipedia', train: { epoch: 2 } };
    for (const model of ['edge_bank', 'mine', { kind: 'tgcn', dim_out: 8 }, { kind: 'mine', any: [1] }])
      expect([model, fits(root, { ...file, model })]).toEqual([model, true]);
    expect(fits(root, { ...file, model: 'edge_bank', memory: { type: 'none' } })).toBe(true);
    expect(fits(root, { ...read('examples/wikipedia-tgn.yaml'), model: { kind: 'general' } })).toBe(true);
    const wrong = [
      { kind: 'tgcn', dim_uot: 8 },
      { kind: 'tgcn', dim_out: 0 },
      { kind: 'edge_bank', terms: 2 },
    ];
    for (const model of wrong) expect([model, fits(root, { ...file, model })]).toEqual([model, false]);
    expect(fits(root, { ...file, model: 'tgcn', trian: {} })).toBe(false);
  });

  it('words in any case, empty sections, keys that Marius ignores', () => {
    const file = read('test/fixtures/config/embedding-only.yaml');
    expect(fits(root, { ...file, training: null })).toBe(true);
    expect(fits(root, { ...file, storage: { ...(file['storage'] as object), device_type: 'CUDA' } })).toBe(
      true,
    );
    expect(fits(root, { ...file, training: { epochs_per_shuffle: 2 } })).toBe(true);
    const metrics = ['mrr', 'MR', 'hits@10', 'Hits@K7', 'hits20', 'mean_rank', 'accuracy', 'f1'];
    expect(fits(root, { ...file, evaluation: { metrics } })).toBe(true);
  });
});

it.each<[string, (file: Record<string, unknown>) => object]>([
  ['a misspelt section', (file) => ({ ...file, trainning: {} })],
  ['a misspelt key', (file) => ({ ...file, training: { num_epoch: 3 } })],
  ['a wrong number', (file) => ({ ...file, training: { num_epochs: 0 } })],
  ['an unknown word', (file) => ({ ...file, evaluation: { ties: 'best' } })],
  ['an unknown metric', (file) => ({ ...file, evaluation: { metrics: ['mrrr'] } })],
  ['a metric without its number', (file) => ({ ...file, evaluation: { metrics: ['hits@'] } })],
  ['no dataset', (file) => ({ ...file, storage: {} })],
])('refuses %s', (_name, change) => {
  expect(fits(root, change(read('test/fixtures/config/embedding-only.yaml')))).toBe(false);
});

it('every key of a layer can be completed', () => {
  const text = JSON.stringify(root);
  for (const word of [
    'GATV2',
    'GRAPH_CONV',
    'share_weights',
    'SOFTMAX_CE',
    'ROTATE',
    'LEAKY_RELU',
    'memory_update',
  ])
    expect(text).toContain(`"${word}"`);
});
