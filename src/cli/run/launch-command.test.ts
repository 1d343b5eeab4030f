import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type LaunchPlan, launchCommand } from './launch-command.js';

const plan: LaunchPlan = {
  kind: 'openmpi',
  program: 'mpirun',
  ranks: 2,
  output: 'all',
  isRoot: false,
  cores: 16,
  errorFolder: null,
  command: ['node', 'a.js'],
  env: {},
};

/** Without the shell script around the command. */
const line = (changes: Partial<LaunchPlan>) =>
  launchCommand({ ...plan, ...changes })
    .args.join(' ')
    .replace(/sh -c [\s\S]* sh \S* (?=node)/, '');

describe('the command line of a launcher', () => {
  it('has flags for root and for more ranks than cores only where they are needed', () => {
    expect(line({})).toBe('-n 2 --bind-to none --quiet --tag-output node a.js');
    expect(line({ isRoot: true })).toContain('--allow-run-as-root');
    expect(line({ ranks: 12 })).toContain('--oversubscribe');
    expect(line({ ranks: 12 })).not.toContain('mpi_yield_when_idle');
    expect(line({ ranks: 20 })).toContain('--oversubscribe --mca mpi_yield_when_idle 1');
  });

  it('names hosts in the words of each launcher', () => {
    const hosts = 'a:2,b:2';
    expect(line({ hosts, env: { SKEIN_DATA: '/d', HOME: '/h' } })).toBe(
      '-n 2 --bind-to none --host a:2,b:2 -x SKEIN_DATA --tag-output node a.js',
    );
    expect(line({ hosts, kind: 'mpich' })).toBe('-n 2 -hosts a:2,b:2 -prepend-rank node a.js');
    expect(line({ hosts, kind: 'srun' })).toBe(
      '--ntasks=2 --kill-on-bad-exit=1 --cpu-bind=none --nodelist=a,b --label node a.js',
    );
  });

  it('shares the cores of one machine, unless the user has', () => {
    const threads = (changes: Partial<LaunchPlan>) =>
      launchCommand({ ...plan, ...changes }).env.SKEIN_THREADS;
    expect(threads({ ranks: 3 })).toBe('5');
    expect(threads({ ranks: 32 })).toBe('1');
    expect(threads({ env: { SKEIN_THREADS: '4' } })).toBeUndefined();
    expect(threads({ hosts: 'a,b' })).toBeUndefined();
  });

  it('knows from its surroundings that ranks will be on other machines', () => {
    const env = { SLURM_JOB_NUM_NODES: '2', SKEIN_DATA: '/d' };
    expect(line({ env, ranks: 64 })).toBe('-n 64 --bind-to none -x SKEIN_DATA --tag-output node a.js');
    expect(launchCommand({ ...plan, env }).env).toEqual({});
    expect(launchCommand({ ...plan, env: { SLURM_JOB_NUM_NODES: '1' } }).env).toEqual({ SKEIN_THREADS: '8' });
    const hostfile = { OMPI_MCA_orte_default_hostfile: '/etc/mpi/hostfile' };
    expect(line({ env: hostfile, ranks: 64 })).not.toContain('--oversubscribe');
  });

  describe('the script around a command on other machines', () => {
    const threadsOf = (env: Record<string, string>, output: 'all' | 'first' = 'all') => {
      const command = ['sh', '-c', 'echo "$SKEIN_THREADS"'];
      const { args } = launchCommand({ ...plan, hosts: 'a:2', output, command, errorFolder: '/nowhere' });
      const start = args.indexOf('sh');
      const { stdout, status } = spawnSync(args[start], args.slice(start + 1), {
        env: { PATH: process.env.PATH, ...env },
        encoding: 'utf8',
      });
      return `${status} ${stdout}`.trim();
    };
    const cores = Number(spawnSync('nproc', { encoding: 'utf8' }).stdout);

    it('divides the cores of the machine it runs on', () => {
      expect(threadsOf({ OMPI_COMM_WORLD_LOCAL_SIZE: '1' })).toBe(`0 ${cores}`);
      expect(threadsOf({ OMPI_COMM_WORLD_LOCAL_SIZE: '1000' })).toBe('0 1');
      expect(threadsOf({ MPI_LOCALNRANKS: '1', SKEIN_THREADS: '3' })).toBe('0 3');
      expect(threadsOf({ SLURM_CPUS_PER_TASK: '7' })).toBe('0 7');
      expect(threadsOf({})).toBe('0');
    });

    it('does without the folder for errors where there is none', () => {
      expect(threadsOf({ PMI_RANK: '1', SKEIN_THREADS: '3' }, 'first')).toBe('0');
      expect(threadsOf({ PMI_RANK: '0', SKEIN_THREADS: '3' }, 'first')).toBe('0 3');
    });
  });

  it('wraps the command when only rank 0 may speak', () => {
    const { args } = launchCommand({ ...plan, output: 'first', errorFolder: '/tmp/x' });
    expect(args.slice(-4)).toEqual(['sh', '/tmp/x', 'node', 'a.js']);
    expect(line({ output: 'first', ranks: 1 })).toBe('-n 1 --bind-to none --quiet node a.js');
  });
});
