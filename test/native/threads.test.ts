/** The thread pool under the kernels: the same bits for any number of threads, from several JavaScript threads, to the end. */
import { spawnSync } from 'node:child_process';
import { getThreads, setThreads } from 'skein/native';
import { afterAll, describe, expect, it } from 'vitest';
import { nativeKernels } from '#internal/native/index.js';

const before = getThreads();
afterAll(() => setThreads(before));

function run(script: string, timeout = 60_000): { readonly status: number | null; readonly stdout: string } {
  const env = { ...process.env, SKEIN_THREADS: '4' };
  const done = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    env,
    timeout,
  });
  if (done.stderr !== '') throw new Error(done.stderr);
  return { status: done.status, stdout: done.stdout.trim() };
}

const matrix = (n: number, seed: number): Float32Array =>
  Float32Array.from({ length: n * n }, (_, i) => Math.sin(seed + i * 0.37));

describe.runIf(nativeKernels !== null)('thread pool', () => {
  const kernels = nativeKernels as NonNullable<typeof nativeKernels>;
  const n = 257;
  const a = matrix(n, 1);
  const b = matrix(n, 2);
  const product = (threads: number): Uint8Array => {
    setThreads(threads);
    const c = new Float32Array(n * n);
    kernels.gemm({ a, b, bias: null, c, m: n, n, k: n, transA: false, transB: false, accumulate: false });
    return new Uint8Array(c.buffer);
  };

  it('gives the same bits for 1 to 9 threads, also when the number changes between calls', () => {
    const want = product(1);
    for (const threads of [2, 9, 3, 1, 4, 8, 2, 5]) expect(Buffer.compare(product(threads), want)).toBe(0);
  });

  it('survives many short calls in a row, with pauses that park its threads', async () => {
    setThreads(3);
    const x = new Float32Array(100_000).fill(1);
    for (let round = 0; round < 30; round++) {
      for (let i = 0; i < 40; i++) kernels.scale(x, x.length, i % 2 === 0 ? 2 : 0.5);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(x.every((value) => value === 1)).toBe(true);
  });

  it('names its threads, and the process ends promptly with all of them', () => {
    const { status, stdout } = run(`
      import { readdirSync, readFileSync } from 'node:fs';
      import { kernels } from './dist/native/index.js';
      kernels().fill(new Float32Array(1 << 20), 1 << 20, 1);
      if (process.platform === 'linux') {
        await new Promise((resolve) => setTimeout(resolve, 500));
        const names = readdirSync('/proc/self/task').map((id) => readFileSync('/proc/self/task/' + id + '/comm', 'utf8').trim());
        console.log(names.filter((name) => name.startsWith('skein-')).sort().join());
      } else console.log('skein-1,skein-2,skein-3');
    `);
    expect(status).toBe(0);
    expect(stdout).toBe('skein-1,skein-2,skein-3');
  });

  it('process.exit in the middle of things ends the process', () => {
    const { status } = run(`
      import { kernels } from './dist/native/index.js';
      kernels().fill(new Float32Array(1 << 20), 1 << 20, 1);
      process.exit(7);
    `);
    expect(status).toBe(7);
  });

  it('keeps the number of threads when a worker loads the library', () => {
    const { stdout } = run(`
      import { Worker } from 'node:worker_threads';
      import { getThreads, setThreads } from './dist/native/index.js';
      const first = getThreads();
      setThreads(1);
      const inWorker = await new Promise((resolve, reject) => {
        const body = "import('./dist/native/index.js').then(async ({ getThreads, setThreads }) => {" +
          "const before = getThreads(); setThreads(3); (await import('node:worker_threads')).parentPort.postMessage(before); })";
        const worker = new Worker(body, { eval: true });
        worker.once('message', resolve);
        worker.once('error', reject);
      });
      console.log([first, inWorker, getThreads()].join());
    `);
    expect(stdout).toBe('4,1,3');
  });

  it('serves several JavaScript threads concurrently with the right results', () => {
    const { stdout } = run(`
      import { Worker } from 'node:worker_threads';
      const body = \`
        import('./dist/native/index.js').then(async ({ kernels }) => {
          const { parentPort } = await import('node:worker_threads');
          let wrong = 0;
          for (let i = 0; i < 60; i++) {
            const x = new Float32Array(300000).fill(i);
            kernels().scale(x, x.length, 2);
            if (x.some((value) => value !== 2 * i)) wrong += 1;
          }
          parentPort.postMessage(wrong);
        });\`;
      const counts = await Promise.all([1, 2, 3].map(() => new Promise((resolve, reject) => {
        const worker = new Worker(body, { eval: true });
        worker.once('message', resolve);
        worker.once('error', reject);
      })));
      console.log(counts.join());
    `);
    expect(stdout).toBe('0,0,0');
  });
});
