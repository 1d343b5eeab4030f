/**
 * Checks what a shipped addon requires of the system: on Linux an old C library only, on Windows system libraries only.
 */
import { join } from 'node:path';
import { run, StepError } from '../steps.mjs';

const newest = [2, 31];
const allowed = /^(libc|libm|libpthread|libdl|ld-linux-x86-64|ld-linux-aarch64|libgcc_s)\.so/;

const isNewer = (version) => {
  const [major, minor] = version.split('.').map(Number);
  return major > newest[0] || (major === newest[0] && minor > newest[1]);
};

/** Returns the problems of one file, as sentences. */
export function inspectAddon(file) {
  const symbols = run('objdump', ['-T', file]);
  const headers = run('objdump', ['-p', file]);
  if (symbols.code !== 0 || headers.code !== 0) return [`objdump cannot read it: ${symbols.output.trim()}`];
  const versions = [...new Set([...symbols.output.matchAll(/GLIBC_([0-9.]+)/g)].map((match) => match[1]))];
  const problems = versions.filter(isNewer).map((version) => `it needs GLIBC_${version}`);
  if (/GLIBCXX_/.test(symbols.output)) problems.push('it needs the system’s C++ library (GLIBCXX)');
  const libraries = [...headers.output.matchAll(/NEEDED\s+(\S+)/g)].map((match) => match[1]);
  problems.push(...libraries.filter((name) => !allowed.test(name)).map((name) => `it needs ${name}`));
  return problems;
}

// Libraries of every Windows; node.exe is loaded lazily (native/windows) and is not among the imports.
const ofWindows = /^(kernel32|msvcrt|advapi32|user32|api-ms-win-crt-[a-z0-9-]+|ucrtbase)\.dll$/i;
// Moves of wide vectors on the stack, which Windows aligns to 16 bytes only: an aligned move may fault.
const alignedMove = /vmov(?:aps|apd|dqa)\S*\s.*(?:%[yz]mm\d+.*\((?:%rsp|%rbp)|\((?:%rsp|%rbp).*%[yz]mm)/;

function inspectWindows(file) {
  const headers = run('objdump', ['-p', file]);
  const code = run('objdump', ['-d', '--no-show-raw-insn', file]);
  if (headers.code !== 0 || code.code !== 0) return [`objdump cannot read it: ${headers.output.trim()}`];
  const libraries = [...headers.output.matchAll(/DLL Name: (\S+)/g)].map((match) => match[1]);
  const problems = libraries.filter((name) => !ofWindows.test(name)).map((name) => `it needs ${name}`);
  if (alignedMove.test(code.output))
    problems.push('it moves wide vectors on the stack as if they were aligned');
  return problems;
}

/** Throws if an addon of a glibc platform or of Windows in `folder` requires more than allowed. */
export function inspectFolder(platform, folder) {
  const inspect = platform.os === 'win32' ? inspectWindows : inspectAddon;
  if (platform.libc !== 'glibc' && platform.os !== 'win32') return;
  const files = ['cpu', ...platform.levels.map((level) => `skein-${level}`)];
  const problems = files.flatMap((name) =>
    inspect(join(folder, `${name}.node`)).map((problem) => `${name}.node: ${problem}`),
  );
  if (problems.length > 0) {
    throw new StepError(`${platform.name} cannot be shipped:\n    ${problems.join('\n    ')}`);
  }
}
