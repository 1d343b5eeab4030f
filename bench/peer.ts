/**
 * Finds PyTorch and configurations in which it is fast: the right OpenBLAS kernels for the processor (peer-core.ts),
 * then as installed, with a faster allocator and the OpenMP build of OpenBLAS preloaded, and with PyTorch's AVX-512
 * code, which it does not select automatically. All configurations that the system offers are measured; the best one is
 * compared.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Cores, chooseCore, processorFlags } from './peer-core.js';

export interface PeerConfig {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface Peer {
  readonly python: string;
  readonly version: string;
  readonly cores: Cores;
  readonly configs: readonly PeerConfig[];
}

export const installHint =
  'PyTorch was not found, so only our numbers follow. Install it with: sudo apt-get install python3-torch ' +
  '(and for its best speed: libgoogle-perftools4 libopenblas0-openmp), or pass an interpreter with --python.';

const runnerFile = fileURLToPath(new URL('./peers/runner.py', import.meta.url));

/** Returns folders with shared libraries, including those of the machine's architecture. */
function libraryFolders(): string[] {
  const roots = ['/usr/lib', '/usr/lib64', '/usr/local/lib', '/lib'].filter((folder) => existsSync(folder));
  const triplets = roots.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.includes('-linux-'))
      .map((name) => join(folder, name)),
  );
  return [...triplets, ...roots];
}

function findLibrary(...names: string[]): string | null {
  for (const folder of libraryFolders()) {
    for (const name of names) if (existsSync(join(folder, name))) return join(folder, name);
  }
  return null;
}

function configurations(coreEnv: Readonly<Record<string, string>>): PeerConfig[] {
  const allocator = findLibrary('libtcmalloc_minimal.so.4', 'libtcmalloc.so.4');
  const blas = findLibrary('openblas-openmp/libblas.so.3');
  const lapack = findLibrary('openblas-openmp/liblapack.so.3');
  const preload = [allocator, blas, lapack].filter((path) => path !== null);
  const words = [allocator === null ? '' : 'tcmalloc', blas === null ? '' : 'openblas-openmp'].filter(
    Boolean,
  );
  const configs: PeerConfig[] = [{ name: 'as installed', env: {} }];
  if (preload.length > 0) configs.push({ name: words.join('+'), env: { LD_PRELOAD: preload.join(' ') } });
  if (processorFlags().has('avx512f')) {
    const { name, env } = configs[configs.length - 1];
    configs.push({ name: `${name}+avx512`, env: { ...env, ATEN_CPU_CAPABILITY: 'avx512' } });
  }
  return configs.map(({ name, env }) => ({ name, env: { ...coreEnv, ...env } }));
}

/** Returns the first interpreter with PyTorch, or null. */
export function findPeer(python: string | null, threads: number): Peer | null {
  const candidates = python === null ? ['python3', '/usr/bin/python3', '/usr/local/bin/python3'] : [python];
  for (const candidate of candidates) {
    const probe = spawnSync(candidate, ['-c', 'import torch, numpy; print(torch.__version__)'], {
      encoding: 'utf8',
    });
    const cores = probe.status === 0 ? chooseCore(candidate, threads) : null;
    if (cores === null) continue;
    return {
      python: candidate,
      version: probe.stdout.trim(),
      cores,
      configs: configurations(cores.chosen.env),
    };
  }
  return null;
}

/** Returns the command and environment that measure one case of the peer. */
export function peerCommand(
  peer: Peer,
  config: PeerConfig,
  suite: string,
  name: string,
  threads: number,
  runs: number,
): { file: string; args: string[]; env: Record<string, string> } {
  const env = {
    OMP_NUM_THREADS: `${threads}`,
    OPENBLAS_NUM_THREADS: `${threads}`,
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const args = [runnerFile, suite, name, `${threads}`, `${runs}`];
  return { file: peer.python, args, env: { ...env, ...config.env } };
}
