/** The platforms that have a package of prebuilt addons, and how each is compiled. */

const x64 = ['portable', 'avx2', 'avx512'];
const arm64 = ['neon'];

/**
 * `cross`: the compiler of Debian 11 for this target; null if only a machine or container of that platform can build
 * it.
 */
export const platforms = [
  { name: 'linux-x64', os: 'linux', cpu: 'x64', libc: 'glibc', levels: x64, cross: 'g++' },
  {
    name: 'linux-arm64',
    os: 'linux',
    cpu: 'arm64',
    libc: 'glibc',
    levels: arm64,
    cross: 'aarch64-linux-gnu-g++',
  },
  { name: 'win32-x64', os: 'win32', cpu: 'x64', levels: x64, cross: 'x86_64-w64-mingw32-g++-posix' },
  { name: 'linux-x64-musl', os: 'linux', cpu: 'x64', libc: 'musl', levels: x64, cross: null },
  { name: 'linux-arm64-musl', os: 'linux', cpu: 'arm64', libc: 'musl', levels: arm64, cross: null },
  { name: 'darwin-arm64', os: 'darwin', cpu: 'arm64', levels: arm64, cross: null },
  { name: 'darwin-x64', os: 'darwin', cpu: 'x64', levels: x64, cross: null },
];

export const packageName = (platform) => `@skein/${platform.name}`;

/** Returns the platform of this machine, so that a container can build for itself. */
export function ownPlatform() {
  const musl =
    process.platform === 'linux' && process.report.getReport().header.glibcVersionRuntime === undefined;
  const name = `${process.platform}-${process.arch}${musl ? '-musl' : ''}`;
  return platforms.find((platform) => platform.name === name) ?? null;
}

/** Returns make's arguments that select the target. */
export function makeWords(platform, out, compiler) {
  return [
    `TARGET_OS=${platform.os}`,
    `TARGET_ARCH=${platform.cpu}`,
    `LEVELS=${platform.levels.join(' ')}`,
    `OUT=${out}`,
    `CXX=${compiler}`,
    'PORTABLE_RUNTIME=1',
    'cpu',
    'all',
  ];
}
