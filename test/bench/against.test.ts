/** `npm run bench -- … --against`: this tree against one with the same kernels and fewer names, in real processes. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNeighbours } from '../../bench/processes.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'skein-against-'));
const older = join(folder, 'older');

/** Creates a tree that re-exports this one, except for `MLP` and a whole entry of the library. */
function makeOlderTree(): void {
  for (const entry of readdirSync(join(root, 'src'), { withFileTypes: true })) {
    if (!entry.isDirectory() || ['temporal', 'cli', 'server'].includes(entry.name)) continue;
    const file = join(root, 'src', entry.name, 'index.ts');
    if (!existsSync(file)) continue;
    const index = JSON.stringify(file);
    mkdirSync(join(older, 'src', entry.name), { recursive: true });
    const names = entry.name === 'nn' ? '{ Adagrad, Adam, crossEntropy, GRUCell }' : '*';
    writeFileSync(join(older, 'src', entry.name, 'index.ts'), `export ${names} from ${index};\n`);
  }
  // The internal module of the case that both trees can run.
  const random = join('src', 'tensor', 'random.ts');
  writeFileSync(join(older, random), `export * from ${JSON.stringify(join(root, random))};\n`);
  symlinkSync(join(root, 'build'), join(older, 'build'));
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function bench(...args: string[]): Promise<Ended> {
  const words = ['--import', 'tsx', join(root, 'bench/main.ts'), ...args];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, words, { cwd: root });
    let [out, err] = ['', ''];
    child.stdout.on('data', (data) => {
      out += data;
    });
    child.stderr.on('data', (data) => {
      err += data;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

beforeAll(makeOlderTree);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('bench --against', () => {
  it('compares what both trees can run, and names what the other one cannot', async () => {
    const only = '^(permutation_1m|mlp_step_1024x256)$';
    const { code, out, err } = await bench(
      ...['kernels', 'gnn', '--only', only, '--against', older, '--rounds', '2', '--json'],
    );
    expect(err).toMatch(/2 cases × 2 rounds × 3 processes: about/);
    expect(err).toMatch(/round 2 of 2/);
    const [same, missing, last, ...more] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(more).toEqual([]);
    expect(same).toMatchObject({ suite: 'kernels', bench: 'permutation_1m', rounds: 2 });
    for (const key of ['this_ms', 'other_ms', 'ratio', 'aa_spread']) expect(same[key]).toBeGreaterThan(0);
    expect(same.low).toBeLessThanOrEqual(same.ratio);
    expect(same.high).toBeGreaterThanOrEqual(same.ratio);
    expect(missing).toEqual({
      suite: 'kernels',
      bench: 'mlp_step_1024x256',
      ratio: null,
      not_comparable: 'other tree: Error: skein/nn has no MLP there',
    });
    expect(last).toMatchObject({ cases: 1, failed: [], not_comparable: ['mlp_step_1024x256'] });
    // Two rounds next to other tests prove nothing about speed, but the exit code must match the last line.
    expect(code).toBe(last.verdict === 'no slower' ? 0 : 1);
  }, 240_000);

  it.each([
    ['a folder that is not there', 'missing', /the folder of a source tree of Skein for --against, got/],
    ['a tree without an addon', 'bare', /a native addon in build\/ for --against, got .*npm run setup/],
  ])(
    'refuses %s',
    async (_what, name, message) => {
      mkdirSync(join(folder, 'bare/src/native'), { recursive: true });
      writeFileSync(join(folder, 'bare/src/native/index.ts'), '');
      const { code, out, err } = await bench('kernels', '--against', join(folder, name));
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toMatch(message);
    },
    240_000,
  );
});

describe('busy neighbours', () => {
  it('run until they are stopped', async () => {
    const { loops, stop } = startNeighbours(2);
    expect(loops).toHaveLength(2);
    for (const loop of loops) expect(() => process.kill(loop.pid as number, 0)).not.toThrow();
    const ended = loops.map((loop) => new Promise((resolve) => loop.on('exit', resolve)));
    stop();
    await Promise.all(ended);
    for (const loop of loops) expect(() => process.kill(loop.pid as number, 0)).toThrow();
  });
});
