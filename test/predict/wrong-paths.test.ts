/** Arguments that cannot be paths: one sentence that names the call, the argument and the value, never an error of Node.js. */
import { openModel, openStream, packModel } from 'skein/predict';
import { describe, expect, test } from 'vitest';

const wrong: readonly (readonly [unknown, string])[] = [
  ['', '""'],
  ['runs/a\0b', '"runs/a\\u0000b"'],
  ['runs/a\0b.tgz', '"runs/a\\u0000b.tgz"'],
  ['\0', '"\\u0000"'],
  [5, '5'],
  [Number.NaN, 'NaN'],
  [true, 'true'],
  [null, 'null'],
  [undefined, 'undefined'],
  [{}, 'Object'],
  [{ kind: 'events' }, 'Object'],
  [['runs/first'], '[runs/first]'],
  [new URL('file:///tmp'), 'URL'],
  [Buffer.from('runs'), 'Buffer(4)'],
];

async function messageOf(work: () => Promise<unknown>): Promise<string> {
  const error = await work().then(
    () => new Error('no error'),
    (reason: Error) => reason,
  );
  expect(error).toMatchObject({ code: 'SKEIN_VALUE' });
  return error.message;
}

const run = 'the path of a run, a checkpoint, a packed model or a configuration file for path';
const calls: readonly (readonly [string, string, string, (path: never) => Promise<unknown>])[] = [
  ['openModel', run, 'Pass the directory', (path) => openModel(path)],
  ['openStream', run, 'Pass the directory', (path) => openStream(path, { state: 'unused' })],
  [
    'openStream',
    'the path of a folder for state',
    'It keeps',
    (state) => openStream('runs/first', { state }),
  ],
  ['packModel', run, 'Pass the directory', (path) => packModel(path, 'model.tgz')],
];

describe.each(calls)('%s: expected %s', (name, what, advice, call) => {
  test.each(wrong)('got %j', async (value, shown) => {
    const message = await messageOf(() => call(value as never));
    expect(message).toContain(`${name}: expected ${what}, got ${shown}. `);
    expect(message).toContain(advice);
    expect(message.includes('cannot contain the character NUL')).toBe(String(value).includes('\0'));
  });
});

test('a file in a folder that does not exist', async () => {
  const error = await packModel('runs/first', '/none/such/model.tgz').catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: 'SKEIN_STORAGE',
    message:
      'packModel: expected a folder that exists for the file /none/such/model.tgz, got /none/such, which does not. Create it first.',
    details: { path: '/none/such' },
  });
});

test('a file to write', async () => {
  for (const file of ['a\0b.tgz', '', 5])
    expect(await messageOf(() => packModel('runs/first', file as string))).toMatch(
      /^packModel: expected a path that ends in \.tgz or \.tar\.gz for file, got /,
    );
});
