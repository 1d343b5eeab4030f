/** Commands that install packages with the package manager of this machine. */
import { findProgram } from './check.js';

type Manager = 'apt-get' | 'dnf' | 'pacman' | 'apk' | 'brew';

const install: Readonly<Record<Manager, string>> = {
  'apt-get': 'apt-get install',
  dnf: 'dnf install',
  pacman: 'pacman -S',
  apk: 'apk add',
  brew: 'brew install',
};

/** Package names of each manager. */
const packages = {
  compiler: {
    'apt-get': 'make g++',
    dnf: 'make gcc-c++',
    pacman: 'make gcc',
    apk: 'make g++',
    brew: 'make gcc',
  },
  mpi: {
    'apt-get': 'openmpi-bin libopenmpi-dev',
    dnf: 'openmpi-devel',
    pacman: 'openmpi',
    apk: 'openmpi-dev',
    brew: 'open-mpi',
  },
  metis: { 'apt-get': 'libmetis5', dnf: 'metis', pacman: 'metis', apk: 'metis', brew: 'metis' },
  vulkan: {
    'apt-get': 'libvulkan1 mesa-vulkan-drivers',
    dnf: 'vulkan-loader mesa-vulkan-drivers',
    pacman: 'vulkan-icd-loader vulkan-swrast',
    apk: 'vulkan-loader mesa-vulkan-swrast',
    brew: 'molten-vk',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<Manager, string>>>>;

export type Installable = keyof typeof packages;

/** Returns a command such as `apt-get install make g++`; without a known manager, Debian's package names. */
export function installCommand(
  what: Installable,
  has: (program: string) => boolean = (program) => findProgram(program) !== null,
): string {
  const manager = (Object.keys(install) as Manager[]).find((name) => has(name));
  if (manager === undefined)
    return `install ${packages[what]['apt-get']} with the package manager of this system`;
  return `${install[manager]} ${packages[what][manager]}`;
}
