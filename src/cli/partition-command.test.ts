/** `skein partition` and `skein info` on what it writes: names, files and prepared datasets, flags, errors. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { preprocess } from '../data/index.js';
import { loadPartitionData } from '../dist/index.js';
import { nativeKernels } from '../native/index.js';
import { run } from './program.js';
import { captureOutput } from './testing/capture-output.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-partition-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

const printed = captureOutput();

type Event = Readonly<Record<string, unknown>>;

async function done(...args: string[]): Promise<Event> {
  printed.clear();
  const code = await run([...args, '--json']);
  expect({ code, err: code === 0 ? '' : printed.err }).toEqual({ code: 0, err: '' });
  return JSON.parse(printed.out.trim().split('\n').at(-1) as string) as Event;
}

async function expectFailure(...args: string[]): Promise<string> {
  printed.clear();
  expect(await run(args)).toBe(2);
  return printed.err;
}

// METIS is reached through the addon.
describe.runIf(nativeKernels !== null)('skein partition', () => {
  it('cuts a known dataset, prints what it costs, and info reads it', async () => {
    const output = at('karate');
    const args = ['partition', 'karate-club', '--num-partitions', '3', '--output', output];
    const made = await done(...args, '--balance', 'edges', '--bidirected', '--add-self-loops');
    expect(made).toMatchObject({ event: 'done', kind: 'partitions', name: 'karate-club', numParts: 3 });
    expect(made['nodes']).toEqual({ _N: 34 });
    expect(made['edges']).toEqual({ '_N:_E:_N': 156 + 34 });
    expect(printed.err).toMatch(/cut +\d+ edges \(\d+\.\d %\)/);
    expect(printed.err).toMatch(/partition 2 +\d+ nodes, \d+ edges, \d+ rows to fetch, /);
    const seen = await done('info', output);
    expect(seen).toMatchObject({ kind: 'partitions', halo: made['halo'], cutEdges: made['cutEdges'] });
    const data = await loadPartitionData(output, { rank: 1, workers: 2 });
    expect(Object.keys(data.nodeFeatures).sort()).toEqual(['_N/features', '_N/labels']);
  });

  it('gives the same files again', async () => {
    const cut = async (name: string): Promise<unknown> => {
      const args = ['--num-partitions', '2', '--algorithm', 'random', '--seed', '4', '--output', at(name)];
      await done('partition', 'karate-club', ...args);
      return JSON.parse(readFileSync(join(at(name), 'karate-club.json'), 'utf8')).parts;
    };
    expect(await cut('once')).toEqual(await cut('twice'));
  });

  it('cuts a file of edges and a prepared dataset', async () => {
    const edges = at('ring.csv');
    writeFileSync(edges, Array.from({ length: 20 }, (_, i) => `${i},${(i + 1) % 20}`).join('\n'));
    const ring = await done('partition', edges, '--num-partitions', '2', '--output', at('ring'));
    expect(ring).toMatchObject({ name: 'ring', cutEdges: 2 });
    await preprocess({ outputDir: at('prepared'), edges: [edges], noRemapIds: true, numNodes: 20 });
    const args = ['--num-partitions', '4', '--output', at('from-prepared'), '--algorithm', 'ldg'];
    const prepared = await done('partition', at('prepared'), ...args);
    expect(prepared).toMatchObject({ name: 'prepared', nodes: { _N: 20 }, edges: { '_N:_E:_N': 20 } });
  });

  it('rejects what it cannot do', async () => {
    const to = ['--num-partitions', '2', '--output', at('no')];
    expect(await expectFailure('partition', 'coraa', ...to)).toMatch(
      /a known dataset.*got "coraa".*cora, citeseer/s,
    );
    expect(await expectFailure('partition', 'karate-club', ...to, '--algorithm', 'metiss')).toMatch(
      /metis, ldg/,
    );
    expect(await expectFailure('partition', 'karate-club', ...to, '--balance', 'edge')).toMatch(/got "edge"/);
    expect(await expectFailure('partition', 'karate-club', ...to, '--balance', 'train_mask')).toMatch(
      /Leave it out/,
    );
    writeFileSync(at('huge.csv'), '0,2147483646\n');
    expect(await expectFailure('partition', at('huge.csv'), ...to)).toMatch(
      /fits in memory \(.*\), got about 144 GiB for 2,147,483,647 nodes .* and 1 edges\. .*skein preprocess --edges/,
    );
    writeFileSync(at('words.csv'), 'a,b\nb,c\n');
    expect(await expectFailure('partition', at('words.csv'), ...to)).toMatch(
      /words\.csv:1: expected a whole number for the source id, got "a"\. Number the nodes first: skein preprocess/,
    );
    const many = ['--num-partitions', '35', '--output', at('no')];
    expect(await expectFailure('partition', 'karate-club', ...many)).toMatch(/from 1 to 34 for parts/);
    expect(await expectFailure('partition', 'karate-club', '--output', at('no'))).toMatch(/num-partitions/);
    writeFileSync(at('facts.csv'), 'a,likes,b\nb,likes,c\nc,knows,a\n');
    const columns = { source: 0, edgeType: 1, target: 2 };
    await preprocess({ outputDir: at('facts'), edges: [at('facts.csv')], ...columns });
    expect(await expectFailure('partition', at('facts'), ...to, '--bidirected')).toMatch(
      /the field relation/,
    );
  });

  it('names the output that it cannot write', async () => {
    writeFileSync(at('occupied'), '');
    const into = (output: string) =>
      expectFailure('partition', 'karate-club', '--num-partitions', '2', '--output', output);
    for (const output of [at('occupied'), join(at('occupied'), 'deep', 'er')])
      expect(await into(output)).toMatch(
        /write: expected to write .*occupied.*, got ENOTDIR\. A component of/,
      );
    // No user may create folders here, not even root; Node's mkdir never returns.
    if (process.platform === 'linux')
      expect(await into('/proc/no/such')).toMatch(
        /write: expected to write \/proc\/no\/such, got ENOENT\. Check/,
      );
    expect(await into(at('x'.repeat(300)))).toMatch(/got ENAMETOOLONG\. Choose a shorter name/);
  });

  it('lets info name the damage of a directory', async () => {
    await done('partition', 'karate-club', '--num-partitions', '2', '--output', at('damaged'));
    const json = join(at('damaged'), 'karate-club.json');
    writeFileSync(json, readFileSync(json, 'utf8').replace('"num_nodes": 34', '"num_nodes": 35'));
    expect(await expectFailure('info', at('damaged'))).toMatch(
      /karate-club.json: expected [0-9a-f]{8} for checksum, got .*The file is damaged/,
    );
  });
});
