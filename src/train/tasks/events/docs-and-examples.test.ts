/** Checks docs/temporal.md and the examples against the schema: keys, defaults, keys without effect. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { modelSections, withoutEffect } from '../../../temporal/config/keys.js';
import { isTemporalConfig, loadTemporalConfig } from './run-config.js';
import { temporalRunSchema } from './schema.js';

const text = readFileSync(new URL('../../../../docs/temporal.md', import.meta.url), 'utf8');

function flat(values: object, prefix = ''): [string, string][] {
  return Object.entries(values).flatMap(([name, value]): [string, string][] =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? flat(value, `${prefix}${name}.`)
      : [[prefix + name, value === '' ? "`''`" : `\`${JSON.stringify(value).replaceAll('"', '')}\``]],
  );
}

it('docs/temporal.md has every key with its default, and no other', () => {
  const model = Object.entries(modelSections).flatMap(([section, keys]) =>
    Object.entries(keys).map(([key, { standard }]): [string, string] => {
      const shown =
        standard === undefined ? '**required**' : `\`${JSON.stringify(standard).replaceAll('"', '')}\``;
      return [`${section}.${key}`, shown];
    }),
  );
  const rows = [...text.matchAll(/^\| `([a-z_.]+)` \| [^|]* \| ([^|]*) \|/gm)];
  expect(rows.map(([, key, standard]) => [key, standard])).toEqual([
    ...model,
    ...flat(temporalRunSchema.parse({})),
  ]);
});

it('docs/temporal.md names the keys without effect', () => {
  for (const { key } of withoutEffect) expect(text).toContain(`\`${key}\``);
});

it('the examples load without warnings', () => {
  const folder = fileURLToPath(new URL('../../../../examples/', import.meta.url));
  const files = readdirSync(folder).filter((name) => /\.yaml$/.test(name) && isTemporalConfig(folder + name));
  expect(files.length).toBeGreaterThanOrEqual(5);
  for (const name of files) expect([name, loadTemporalConfig(folder + name).warnings]).toEqual([name, []]);
});
