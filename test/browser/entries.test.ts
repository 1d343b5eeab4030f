/**
 * The entries for browsers export the same names as those for Node.js: the same value, or one that throws when
 * it is used. Needs dist/, which the build writes.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { browserEntries, buildDist, load } from './dist.js';

type Exports = Readonly<Record<string, unknown>>;

const entries = browserEntries();

/** Returns the message that using a value throws, or null. */
function refusal(value: unknown): string | null {
  if (typeof value !== 'function') return null;
  try {
    void (value as unknown as Exports).anything;
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

beforeAll(() => buildDist(), 120_000);

test('the imports that need Node.js have one', () => {
  const names = entries.map(({ name }) => name);
  expect(names.sort()).toEqual([
    ...['skein', 'skein/data', 'skein/dist', 'skein/marius', 'skein/predict', 'skein/storage', 'skein/train'],
  ]);
});

describe.each(entries)('$name', ({ name, node: file, browser }) => {
  test('the same names; values are the same or throw', async () => {
    const [node, page] = await Promise.all([load(file), load(browser)]);
    expect(Object.keys(page).sort()).toEqual(Object.keys(node).sort());
    for (const [key, value] of Object.entries(page)) {
      const message = refusal(value);
      if (message === null) expect(value, key).toBe(node[key]);
      else expect(message).toMatch(`${key}: this export of ${name} needs Node.js`);
    }
  });

  test('suggested replacements exist', async () => {
    const page = await load(browser);
    const advice = Object.values(page).flatMap((value) => refusal(value)?.match(/Use (.*)\.$/)?.[1] ?? []);
    for (const text of advice) {
      for (const [, word, from] of text.matchAll(
        /\b([a-z]+[A-Z]\w+|[A-Z]\w+[A-Z]\w+)\b(?: of (skein\/\w+))?/g,
      )) {
        const place = from === undefined ? null : await load(`dist/${from.replace('skein/', '')}/index.js`);
        const main = await load('dist/index.browser.js');
        const data = await load('dist/data/index.browser.js');
        const known = place ?? { ...main, ...data, ...page, ...methodNames };
        expect(known, text).toHaveProperty(word);
        expect(refusal(known[word]), text).toBeNull();
      }
    }
  });
});

/** Methods that messages suggest. */
const methodNames = { fromEdges: true, loadStateDict: true, stateDict: true };

test('the names that a page needs exist', async () => {
  const wanted = {
    data: ['barabasiAlbert', 'karateClub', 'makeNodeDataset', 'parsePickle', 'randomLinkSplit'],
    storage: ['HotColdStore', 'MemoryStore', 'PartitionLayout', 'rowAdam'],
    dist: ['PartitionBook', 'SelfCommunicator', 'partitionGraph'],
    train: ['Evaluator', 'classificationMetrics', 'trainNodeClassifier'],
  };
  for (const [part, names] of Object.entries(wanted)) {
    const page = await load(`dist/${part}/index.browser.js`);
    for (const name of names) expect(refusal(page[name]), name).toBeNull();
  }
});

test('a value that needs Node.js throws on every use, and only on use', async () => {
  const { FileStore } = (await load('dist/storage/index.browser.js')) as {
    FileStore: { new (path: string): object; open(): void; (): void };
  };
  const message =
    'FileStore: this export of skein/storage needs Node.js, and this is the build for browsers. Use MemoryStore.';
  expect(() => new FileStore('a')).toThrow(message);
  expect(() => FileStore()).toThrow(message);
  expect(() => FileStore.open()).toThrow(message);
  expect({} instanceof FileStore).toBe(false);
  await expect(Promise.resolve(FileStore)).resolves.toBe(FileStore);
  class Own extends FileStore {}
  expect(() => new Own('a')).toThrow(message);
});
