/**
 * How the addon is selected, the error when it cannot be, and the asynchronous kernels.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getThreads, nativeStatus, setThreads } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { asyncKernels, nativeKernels, referenceKernels } from '#internal/native/index.js';

// The kernels are not part of the package's interface, so they are imported by path.
const program = `
import { nativeStatus } from 'skein/native';
import { kernels } from './dist/native/index.js';
const c = new Float32Array(1);
const [a, b] = [Float32Array.of(2), Float32Array.of(3)];
kernels().gemm({ a, b, bias: null, c, m: 1, n: 1, k: 1, transA: false, transB: false, accumulate: false });
console.log(JSON.stringify({ ...nativeStatus(), product: c[0] }));
`;

function start(
  env: Record<string, string>,
  cwd = process.cwd(),
): { status: number | null; stdout: string; stderr: string } {
  const base = { ...process.env };
  delete base.SKEIN_NATIVE;
  delete base.SKEIN_THREADS;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    cwd,
    env: { ...base, ...env },
  });
}

describe('choice of kernels', () => {
  it('rejects an unknown level and lists the known ones', () => {
    const { status, stderr } = start({ SKEIN_NATIVE: 'avx9' });
    expect(status).not.toBe(0);
    expect(stderr).toContain(
      'SKEIN_NATIVE: expected 0, 1 or one of portable, avx2, avx512, neon, got "avx9"',
    );
  });
  it.each(['0', '-1', 'many', '1.5'])('rejects SKEIN_THREADS=%s', (value) => {
    const { status, stderr } = start({ SKEIN_THREADS: value });
    expect(status).not.toBe(0);
    expect(stderr).toContain('SKEIN_THREADS');
  });
  it('SKEIN_NATIVE=0 runs the TypeScript kernels without a warning', () => {
    const { stdout, stderr } = start({ SKEIN_NATIVE: '0' });
    expect(JSON.parse(stdout)).toMatchObject({ backend: 'reference', level: null, product: 6 });
    expect(stderr).toBe('');
  });
  it.runIf(nativeKernels !== null)('the level by name and SKEIN_THREADS=3 are obeyed', () => {
    const level = nativeStatus().level as string;
    const { stdout } = start({ SKEIN_NATIVE: level, SKEIN_THREADS: '3' });
    expect(JSON.parse(stdout)).toMatchObject({ backend: 'native', level, threads: 3, product: 6 });
  });
  it.runIf(nativeKernels !== null && process.platform === 'linux')(
    'rejects a truncated library with an error that names it',
    () => {
      const { level, path } = nativeStatus();
      const copy = mkdtempSync(join(tmpdir(), 'skein-cut-off-'));
      try {
        const build = join(copy, 'build');
        cpSync('dist', join(copy, 'dist'), { recursive: true });
        cpSync('package.json', join(copy, 'package.json'));
        symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
        cpSync(join(path as string, '../cpu.node'), join(build, 'cpu.node'));
        const library = join(build, `skein-${level}.node`);
        cpSync(path as string, library);
        truncateSync(library, 200_000);
        const { stdout, stderr } = start({}, copy);
        expect(JSON.parse(stdout)).toMatchObject({ backend: 'reference', product: 6 });
        expect(stderr).toContain(`skein-${level}.node is incomplete`);
        truncateSync(join(build, 'cpu.node'), 10_000);
        expect(start({}, copy).stderr).toContain('cpu.node is incomplete');
      } finally {
        rmSync(copy, { recursive: true });
      }
    },
  );
  it.runIf(nativeKernels !== null)('names the file of the addon and the best level of the processor', () => {
    const { level, bestLevel, path, reason } = nativeStatus();
    expect(path).toMatch(new RegExp(`skein-${level}\\.node$`));
    expect(existsSync(path as string)).toBe(true);
    expect(['portable', 'avx2', 'avx512', 'neon']).toContain(bestLevel);
    expect(reason).toBeNull();
  });

  /** A copy of the package without its addon, in which `fill` may put files. */
  function bare(fill: (folder: string) => void, env: Record<string, string> = {}): ReturnType<typeof start> {
    const folder = mkdtempSync(join(tmpdir(), 'skein-bare-'));
    try {
      for (const part of ['dist/native', 'dist/util']) cpSync(part, join(folder, part), { recursive: true });
      cpSync('package.json', join(folder, 'package.json'));
      fill(folder);
      return start(env, folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it('without an addon it warns once with platform, what was tried, what to do and the cost, and computes', () => {
    const { stdout, stderr } = bare(() => undefined);
    expect(JSON.parse(stdout)).toMatchObject({ backend: 'reference', product: 6 });
    expect(stderr.match(/SkeinWarning/g)).toHaveLength(1);
    expect(stderr).toContain(`for ${process.platform}-${process.arch}, Node.js ${process.versions.node}`);
    expect(stderr).toContain(`@skein/${process.platform}-${process.arch} (not installed)`);
    expect(stderr).toContain('build/ (not built)');
    expect(stderr).toContain('npx skein build');
    expect(stderr).toMatch(/35 to 54 times slower/);
  });
  it.runIf(nativeKernels !== null)('takes the addon of a platform package', () => {
    const { stdout, stderr } = bare((folder) => {
      const place = join(folder, 'node_modules', '@skein', `${process.platform}-${process.arch}`);
      cpSync('build', place, { recursive: true, filter: (path) => !path.includes('obj') });
      writeFileSync(join(place, 'package.json'), '{}');
    });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ backend: 'native', product: 6 });
    expect(JSON.parse(stdout).path).toContain(join('@skein', `${process.platform}-${process.arch}`));
  });
  it.runIf(nativeKernels !== null)(
    'reports why an existing addon does not load, and tries the next location',
    () => {
      const spoil = (folder: string): void => {
        const place = join(folder, 'node_modules', '@skein', `${process.platform}-${process.arch}`);
        cpSync('build/cpu.node', join(place, 'cpu.node'));
        writeFileSync(join(place, 'package.json'), '{}');
        writeFileSync(join(place, `skein-${nativeStatus().bestLevel}.node`), 'not an addon');
      };
      const alone = bare(spoil);
      expect(alone.stderr).toMatch(
        /@skein\/\S+ \(.*(file too short|invalid ELF|not a mach-o|not a valid).*\)/,
      );
      const nextToPackage = bare((folder) => {
        spoil(folder);
        cpSync('build', join(folder, 'build'), { recursive: true, filter: (path) => !path.includes('obj') });
      });
      expect(JSON.parse(nextToPackage.stdout)).toMatchObject({ backend: 'native', product: 6 });
    },
  );
  it.runIf(nativeKernels !== null)('opens no level that this processor cannot run', () => {
    const { stdout, stderr } = bare((folder) => {
      cpSync('build/cpu.node', join(folder, 'build', 'cpu.node'));
      const level = nativeStatus().bestLevel === 'neon' ? 'avx512' : 'neon';
      cpSync(nativeStatus().path as string, join(folder, 'build', `skein-${level}.node`));
    });
    expect(JSON.parse(stdout)).toMatchObject({ backend: 'reference' });
    expect(stderr).toMatch(/build\/ \(no file skein-/);
  });
  it('setThreads rejects invalid numbers', () => {
    expect(() => setThreads(0)).toThrow(
      /setThreads: expected a whole number from 1 to 1024 for count, got 0/,
    );
    expect(getThreads()).toBe(nativeStatus().threads);
  });
});

describe('asynchronous kernels', () => {
  it('return what the synchronous ones return, many concurrently', async () => {
    const x = Float32Array.from({ length: 1000 }, (_, i) => i / 7);
    const jobs = Array.from({ length: 50 }, async () => {
      const y = new Float32Array(1000);
      await asyncKernels.unary(6, x, y, 10, 0);
      return y;
    });
    const want = new Float32Array(1000);
    (nativeKernels ?? referenceKernels).unary(6, x, want, 10, 0);
    for (const y of await Promise.all(jobs)) expect(y).toEqual(want);
    expect(await asyncKernels.sumSquares(Float32Array.of(3, 4), 2)).toBe(25);
  });
  it('keep their arrays alive until they end', async () => {
    const run = (): Promise<number> => asyncKernels.sumSquares(new Float64Array(200_000).fill(1), 200_000);
    const sums = await Promise.all(Array.from({ length: 40 }, run));
    expect(new Set(sums)).toEqual(new Set([200_000]));
  });
  it('leave the event loop free', async () => {
    if (nativeKernels === null) return;
    const n = 1500;
    const a = new Float64Array(n * n).fill(0.5);
    const c = new Float64Array(n * n);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    await asyncKernels.gemm({
      a,
      b: a,
      bias: null,
      c,
      m: n,
      n,
      k: n,
      transA: false,
      transB: false,
      accumulate: false,
    });
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(0);
    expect(c[0]).toBe(0.25 * n);
  });
  it.runIf(nativeKernels !== null)('reject a wrong argument with an error that names it', () => {
    const wrong = Int32Array.of(1) as unknown as Float32Array;
    expect(() => nativeKernels?.unary(0, Float32Array.of(1), wrong, 1, 0)).toThrow(
      /kernel unary: expected a Float32Array for y \(argument 3\)/,
    );
    expect(() => (nativeKernels as unknown as { unary(): void }).unary()).toThrow(/unary/);
  });
});

describe.runIf(nativeKernels !== null)('worker threads', () => {
  it('load the addon next to the main thread and end while work is in flight', () => {
    const script = `
      import { Worker, isMainThread } from 'node:worker_threads';
      const body = \`
        import('./dist/native/index.js').then(async ({ asyncKernels, kernels }) => {
          const { parentPort } = await import('node:worker_threads');
          const y = new Float32Array(1);
          kernels().unary(0, Float32Array.of(3), y, 1, 0);
          asyncKernels.sumSquares(new Float64Array(4000000), 4000000);
          parentPort.postMessage(y[0]);
          process.exit(0);
        });\`;
      const results = await Promise.all([1, 2, 3].map(() => new Promise((resolve, reject) => {
        const worker = new Worker(body, { eval: true });
        worker.once('message', resolve);
        worker.once('error', reject);
      })));
      await new Promise((resolve) => setTimeout(resolve, 200));
      console.log(results.join());
    `;
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
    });
    expect(output.trim()).toBe('-3,-3,-3');
  });
});
