/** ARCHITECTURE.md against the code: who implements each interface, and which folders there are. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../programs.js';

const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');

interface Declared {
  readonly isAbstract: boolean;
  /** Names after `extends` and `implements`. */
  readonly parents: readonly string[];
  readonly isClass: boolean;
}

/** Classes and interfaces of src/, by name; two folders may use a name internally. */
function declarations(): Map<string, Declared[]> {
  const found = new Map<string, Declared[]>();
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
    // The facades of another system are not part of the table.
    if (file.startsWith('compat')) continue;
    const text = readFileSync(join(root, 'src', file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
    for (const match of text.matchAll(
      /^(?:export )?(?:default )?(abstract )?(class|interface) (\w+)([^{]*)\{/gm,
    )) {
      const [, abstract, kind, name, heading] = match;
      const plain = heading.replace(/<[^<>]*(?:<[^<>]*>[^<>]*)*>/g, '');
      const parents = [
        ...plain.matchAll(/\b(?:extends|implements)\s+([\w,\s]+?)(?=\s*(?:extends|implements|$))/g),
      ];
      const same = found.get(name) ?? [];
      found.set(name, same);
      same.push({
        isAbstract: abstract !== undefined,
        isClass: kind === 'class',
        parents: parents.flatMap(([, list]) => list.split(',').map((one) => one.trim())),
      });
    }
  }
  return found;
}

const declared = declarations();

function isA(name: string, ancestor: string): boolean {
  const parents = (declared.get(name) ?? []).flatMap((one) => one.parents);
  return parents.some((parent) => parent === ancestor || isA(parent, ancestor));
}

const rows = [...page.matchAll(/^\| `(\w+)` \| [^|]* \| ([^|]*) \|$/gm)];

test('the table has the six nouns', () => {
  const names = rows.map(([, name]) => name);
  expect(names).toEqual(
    expect.arrayContaining(['Task', 'Batches', 'Predictor', 'MessageGraph', 'Sampler', 'RowReader']),
  );
});

test.each(rows.map(([, name, list]) => [name, list] as const))(
  '%s is implemented by what the table lists',
  (name, list) => {
    const listed = [...list.matchAll(/`(\w+)`/g)].map(([, one]) => one).sort();
    const found = [...declared]
      .filter(([, same]) => same.some(({ isClass, isAbstract }) => isClass && !isAbstract))
      .map(([one]) => one)
      // LocalGraph is the common part of Graph and Block.
      .filter((one) => one !== 'LocalGraph' && isA(one, name))
      .sort();
    expect(listed).toEqual(found);
  },
);

test('the folders exist, and no folder of src is missing', () => {
  const named = [...page.matchAll(/^(native|src)\/(\w+)\/ /gm)].map(([, top, name]) => `${top}/${name}`);
  for (const folder of named) expect(existsSync(join(root, folder)), folder).toBe(true);
  const present = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  expect(named.filter((name) => name.startsWith('src/')).sort()).toEqual(
    present.map(({ name }) => `src/${name}`).sort(),
  );
});
