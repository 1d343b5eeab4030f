import { afterEach, describe, expect, it, vi } from 'vitest';
import { runLimited, runProbe } from './check.js';
import { describeCheck } from './doctor.js';
import { installCommand } from './install-commands.js';
import { describeKernels, type KernelStatus } from './kernels.js';
import { checkDisk, checkMachineMemory, checkNode, checkPlatform, checkPort } from './machine.js';

afterEach(() => vi.unstubAllEnvs());

describe('kernels', () => {
  const native: KernelStatus = {
    ...{ backend: 'native', level: 'avx2', reason: null, threads: 2, computes: true },
    ...{ path: '/build/skein-avx2.node', bestLevel: 'avx2', tried: [] },
  };

  it('are fine at the best level', () => {
    expect(describeKernels(native, 'skein')).toMatchObject({
      state: 'ok',
      found: 'native, level avx2, 2 threads, /build/skein-avx2.node',
    });
  });

  it('could be better', () => {
    vi.stubEnv('SKEIN_NATIVE', '');
    const slow = describeKernels({ ...native, bestLevel: 'avx512' }, 'npx skein');
    expect(slow).toMatchObject({ state: 'problem', fix: 'npx skein build' });
    expect(slow.found).toContain('can run level avx512');
    expect(slow.needed).toBeUndefined();
  });

  it('are missing where no addon loads, with every reason', () => {
    vi.stubEnv('SKEIN_NATIVE', '');
    const tried = [
      { place: '@skein/linux-x64', problem: 'not installed' },
      { place: 'build/', problem: 'not built' },
    ];
    const status = { ...native, backend: 'reference', level: null, reason: 'long', tried } as const;
    expect(describeKernels(status, 'skein')).toMatchObject({
      ...{ state: 'missing', fix: 'skein build' },
      found: 'TypeScript (much slower), 2 threads: @skein/linux-x64: not installed; build/: not built',
    });
    vi.stubEnv('SKEIN_NATIVE', '0');
    expect(describeKernels(status, 'skein').fix).toBe('unset SKEIN_NATIVE');
  });

  it('are a problem where an addon is there and does not load', () => {
    const tried = [{ place: 'build/', problem: 'build/skein-avx2.node is incomplete' }];
    const status = { ...native, backend: 'reference', level: null, reason: 'long', tried } as const;
    expect(describeKernels(status, 'skein').state).toBe('problem');
  });

  it('that compute wrong values are a problem that ends in code 1', () => {
    expect(describeKernels({ ...native, computes: false }, 'skein')).toMatchObject({
      state: 'problem',
      needed: true,
    });
  });
});

it('the platform tells how many processors a container may use', () => {
  expect(checkPlatform(0.5)).toMatchObject({
    found: expect.stringMatching(/ cores, this process may use 0\.5 \(cgroup\)$/),
    details: { limit_cores: 0.5 },
  });
  for (const quota of [null, 4096]) expect(checkPlatform(quota).found).toMatch(/ \d+ cores$/);
});

it.each([
  ['20.19.0', 'ok'],
  ['24.1.0', 'ok'],
  ['20.18.9', 'problem'],
  ['18.20.0', 'problem'],
])('Node.js %s is %s', (version, state) => {
  expect(checkNode('>=20.19', version).state).toBe(state);
});

it.each([
  ['apt-get', 'apt-get install make g++'],
  ['dnf', 'dnf install make gcc-c++'],
  ['pacman', 'pacman -S make gcc'],
  ['apk', 'apk add make g++'],
  ['brew', 'brew install make gcc'],
  ['none', 'install make g++ with the package manager of this system'],
])('%s installs a compiler', (manager, command) => {
  expect(installCommand('compiler', (program) => program === manager)).toBe(command);
});

describe('probes', () => {
  it('end at their time limit, whatever they start', async () => {
    const started = performance.now();
    const done = await runLimited('sh', ['-c', 'sleep 60 & sleep 60'], 0.3);
    expect(done.timedOut).toBe(true);
    expect(performance.now() - started).toBeLessThan(20_000);
  }, 240_000);

  it('may crash, fail or not be there', async () => {
    expect(
      await runLimited(process.execPath, ['-e', 'process.kill(process.pid, "SIGSEGV")'], 20),
    ).toMatchObject({
      signal: 'SIGSEGV',
    });
    expect(await runLimited('no-such-program', [], 20)).toMatchObject({
      code: null,
      err: expect.stringMatching(/ENOENT/),
    });
    expect(await runProbe('kernels', 0.01)).toBe('did not respond within 0.01 s');
  }, 240_000);

  it('find out about disk, memory and ports', async () => {
    expect(checkDisk('disk', '/no/such/folder')).toMatchObject({
      state: 'missing',
      fix: 'mkdir -p /no/such/folder',
    });
    expect(checkDisk('disk', '.').details).toMatchObject({ free_bytes: expect.any(Number) });
    expect(checkMachineMemory().details).toMatchObject({ total_bytes: expect.any(Number) });
    const { createServer } = await import('node:net');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    expect(await checkPort(port)).toMatchObject({ state: 'problem', fix: expect.stringContaining('--port') });
    await new Promise((resolve) => server.close(resolve));
    expect(await checkPort(port)).toMatchObject({ state: 'ok' });
  });
});

it('prints the fix below what is not in order', () => {
  const check = {
    name: 'METIS',
    state: 'missing',
    found: 'not found',
    fix: 'apt-get install libmetis5',
  } as const;
  expect(describeCheck(check, 8, false)).toEqual([
    'missing  METIS     not found',
    '                   → apt-get install libmetis5',
  ]);
  expect(describeCheck(check, 8, true)[0]).toContain('[33mmissing');
  expect(describeCheck({ ...check, state: 'ok' }, 8, false)).toHaveLength(1);
});
