/** `info`, `export` and `pack` on packed models: as on their runs, and nothing of a temporary place is shown or left. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fitEvents, fitLinks, packModel } from '../predict/index.js';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-packed-'));
const at = (...names: string[]): string => join(folder, ...names);
mkdirSync(at('tmp'));
const { TMPDIR: before } = process.env;
process.env['TMPDIR'] = at('tmp');
afterAll(() => {
  if (before === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = before;
  rmSync(folder, { recursive: true, force: true });
});
const printed = captureOutput();

/** Runs a command; returns its text. */
async function shown(...args: string[]): Promise<string> {
  printed.clear();
  const code = await run(args);
  expect({ code, err: code === 0 ? '' : printed.err }).toEqual({ code: 0, err: '' });
  expect(readdirSync(at('tmp'))).toEqual([]);
  expect(printed.out).not.toContain(at('tmp'));
  return printed.out;
}

async function failure(...args: string[]): Promise<string> {
  printed.clear();
  expect(await run(args)).toBe(2);
  expect(readdirSync(at('tmp'))).toEqual([]);
  expect(printed.err).not.toContain(at('tmp'));
  return printed.err;
}

beforeAll(async () => {
  const buys = Array.from({ length: 120 }, (_, i): [string, string] => [`u${i % 20}`, `i${(i * 7) % 10}`]);
  await (await fitLinks(buys, { epochs: 2, directory: at('links') })).close();
  await packModel(at('links'), at('links.tgz'));
  const stream = Array.from({ length: 200 }, (_, i) => ({ head: `u${i % 7}`, tail: `v${i % 5}`, time: i }));
  const config = { 'memory.dim_out': 8, 'gnn.dim_out': 8 };
  await (await fitEvents(stream, { epochs: 1, directory: at('events'), config })).close();
  await packModel(at('events'), at('events.tgz'));
});

describe('info', () => {
  it.each(['links', 'events'])('describes the run of %s', async (name) => {
    const last = async (path: string): Promise<Record<string, unknown>> =>
      JSON.parse((await shown('info', path, '--json')).trim().split('\n').at(-1) as string);
    const {
      directory: _,
      dataset: __,
      checkpoints: ___,
      datasetFound: ____,
      ...own
    } = await last(at(name, 'run'));
    const packed = await last(at(`${name}.tgz`));
    expect(packed).toMatchObject({ ...own, directory: at(`${name}.tgz`), packed: true });
    expect(packed).toMatchObject({ bytes: statSync(at(`${name}.tgz`)).size });
    expect(await shown('info', at(`${name}.tgz`))).toMatch(/^packed model .*\.tgz \([\d.]+ KiB\)\ntask /);
    expect(printed.out).not.toMatch(/^(dataset {5}(dataset|events)|checkpoints)/m);
  });

  it('names a file that is not a packed model', async () => {
    writeFileSync(at('other.tgz'), 'text');
    expect(await failure('info', at('other.tgz'))).toMatch(
      /other\.tgz: expected the archive of a packed model/,
    );
    expect(await failure('info', at('none.tgz'))).toMatch(/got .*none\.tgz, which does not exist\./);
  });
});

describe('export', () => {
  it.each([
    ['links', 'embeddings.csv'],
    ['events', 'memory.csv'],
  ])('writes the tables of %s, next to the file or elsewhere', async (name, file) => {
    await shown('export', at(name, 'run'), '--output-dir', at(`${name}-own`));
    await shown('export', at(`${name}.tgz`), '--output-dir', at(`${name}-packed`));
    expect(readdirSync(at(`${name}-packed`))).toEqual(readdirSync(at(`${name}-own`)));
    expect(readFileSync(at(`${name}-packed`, file))).toEqual(readFileSync(at(`${name}-own`, file)));
    await shown('export', at(`${name}.tgz`));
    expect(readFileSync(at(file))).toEqual(readFileSync(at(`${name}-own`, file)));
  });

  it('writes the encoded nodes and the model', async () => {
    await shown('export', at('links.tgz'), '--format', 'onnx', '--output-dir', at('onnx'));
    expect(readdirSync(at('onnx'))).toContain('decoder.onnx');
    await shown('export', at('links.tgz'), '--what', 'encoded', '--output-dir', at('encoded'));
    expect(readdirSync(at('encoded'))).toEqual(['encoded_nodes.csv']);
  });

  it('names the file in errors', async () => {
    expect(await failure('export', at('events.tgz'), '--format', 'onnx')).toMatch(
      /temporal run \(.*events\.tgz\)/,
    );
    expect(await failure('export', at('events.tgz'), '--what', 'relations')).toMatch(
      /run .*events\.tgz has no/,
    );
    expect(await failure('export', at('none.tgz'))).toMatch(
      /expected a directory or a packed model \(\.tgz\), got/,
    );
  });
});

it.each(['links', 'events'])('eval names the file of %s', async (name) => {
  expect(await shown('eval', at(`${name}.tgz`))).toContain(`in ${at(`${name}.tgz`)}\n`);
  const done = (await shown('eval', at(`${name}.tgz`), '--json')).trim().split('\n').at(-1) as string;
  expect(JSON.parse(done)).toMatchObject({ directory: at(`${name}.tgz`) });
});

it('train refuses a packed model in one sentence', async () => {
  expect(await failure('train', at('links.tgz'))).toMatch(
    /^skein: train: .*links\.tgz: a packed model cannot be trained further\. Resume the run [^\n]*\n$/,
  );
});

it('pack refuses a packed model in one sentence, whatever --output is', async () => {
  for (const output of ['links.tgz', 'again.tgz'])
    expect(await failure('pack', at('links.tgz'), '-o', at(output))).toMatch(
      /^skein: pack: expected a run to pack, got .*links\.tgz, which is packed already\. Copy the file, or pack its run again\.\n$/,
    );
  await expect(packModel(at('links.tgz'), at('again.tgz'))).rejects.toThrow(
    /^packModel: expected a run to pack/,
  );
});
