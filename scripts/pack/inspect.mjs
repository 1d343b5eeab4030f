/** What a shipped addon for Linux may ask of the system: an old C library and nothing else. */
import { join } from 'node:path';
import { run, StepError } from '../steps.mjs';

const newest = [2, 31];
const allowed = /^(libc|libm|libpthread|libdl|ld-linux-x86-64|ld-linux-aarch64|libgcc_s)\.so/;

const isNewer = (version) => {
  const [major, minor] = version.split('.').map(Number);
  return major > newest[0] || (major === newest[0] && minor > newest[1]);
};

/** Problems of one file, as sentences; empty when there are none. */
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

/** Throws when an addon of a glibc platform in `folder` needs more than it may. */
export function inspectFolder(platform, folder) {
  if (platform.libc !== 'glibc') return;
  const files = ['cpu', ...platform.levels.map((level) => `skein-${level}`)];
  const problems = files.flatMap((name) =>
    inspectAddon(join(folder, `${name}.node`)).map((problem) => `${name}.node: ${problem}`),
  );
  if (problems.length > 0) {
    throw new StepError(`${platform.name} cannot be shipped:\n    ${problems.join('\n    ')}`);
  }
}
