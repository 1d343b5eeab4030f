/**
 * A system that gives no more threads (a limit on processes in a container): kernels compute on the threads there are, and
 * asynchronous calls either work or reject. A preloaded `pthread_create` fails for every thread that the addon starts.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { nativeKernels } from '#internal/native/index.js';

// Node.js itself starts its threads before the program runs; the program then sets the number that may follow.
const shim = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
typedef int (*create_t)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int pthread_create(pthread_t* t, const pthread_attr_t* a, void* (*f)(void*), void* x) {
  const char* left = getenv("THREADS_LEFT");
  if (left != NULL && atoi(left) == 0) return EAGAIN;
  return ((create_t)dlsym(RTLD_NEXT, "pthread_create"))(t, a, f, x);
}
`;

const folder = mkdtempSync(join(tmpdir(), 'skein-no-threads-'));
afterAll(() => rmSync(folder, { recursive: true }));

function compiled(): string | null {
  if (process.platform !== 'linux' || process.env.LD_PRELOAD !== undefined) return null;
  const [source, library] = [join(folder, 'shim.c'), join(folder, 'shim.so')];
  writeFileSync(source, shim);
  const made = spawnSync('g++', ['-x', 'c', '-shared', '-fPIC', source, '-o', library, '-ldl']);
  return made.status === 0 ? library : null;
}
const library = compiled();

describe.runIf(nativeKernels !== null && library !== null)('without new threads', () => {
  const run = (script: string) => {
    const env = { ...process.env, SKEIN_THREADS: '4', LD_PRELOAD: library as string };
    const args = ['--input-type=module', '--eval', script];
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, {
      ...{ encoding: 'utf8', env, timeout: 60_000 },
    });
    return { status, signal, stdout: stdout.trim(), stderr };
  };

  it('kernels compute, and asynchronous ones reject with a reason', () => {
    const { stdout, ...rest } = run(`
      import { asyncKernels, kernels } from './dist/native/index.js';
      process.env.THREADS_LEFT = '0';
      const x = new Float32Array(1 << 20);
      kernels().fill(x, x.length, 3);
      console.log(x.every((value) => value === 3));
      await asyncKernels.fill(x, x.length, 4).catch((error) => console.log(error.message));
      delete process.env.THREADS_LEFT;
      await asyncKernels.fill(x, x.length, 5);
      console.log(x.every((value) => value === 5));
      process.env.THREADS_LEFT = '0';
      await asyncKernels.fill(x, x.length, 6);
      console.log(x.every((value) => value === 6));
    `);
    expect(rest).toEqual({ status: 0, signal: null, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      ...['true', expect.stringMatching(/^kernel fill failed: it could not be started: /), 'true', 'true'],
    ]);
  });

  it('rows are read from a file by the calling thread', () => {
    const path = join(folder, 'rows.bin');
    writeFileSync(
      path,
      Uint8Array.from({ length: 1 << 16 }, (_, i) => i >> 8),
    );
    const { stdout, ...rest } = run(`
      import { openSync } from 'node:fs';
      import { kernels } from './dist/native/index.js';
      const file = openSync(${JSON.stringify(path)}, 'r');
      process.env.THREADS_LEFT = '0';
      const ids = Int32Array.from({ length: 128 }, (_, i) => 2 * i);
      const places = ids.map((_, i) => i);
      const out = new Uint8Array(128 * 256);
      kernels().readRows(file, ids, places, out, ids.length, 256, 0);
      console.log(out.every((value, i) => value === 2 * (i >> 8)));
    `);
    expect(rest).toEqual({ status: 0, signal: null, stderr: '' });
    expect(stdout).toBe('true');
  });
});
