/** Where the small files are, and what is in them. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const fixtures = fileURLToPath(new URL('../fixtures/data', import.meta.url));

interface Expected {
  readonly planetoid: Readonly<Record<string, number>>;
  readonly shchur: Readonly<Record<string, number>>;
  readonly ogb: Readonly<Record<string, number>>;
  readonly types: Readonly<
    Record<string, { readonly shape: number[]; readonly values: (number | string)[] }>
  >;
}

export const expectedContent = JSON.parse(readFileSync(`${fixtures}/expected.json`, 'utf8')) as Expected;
