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

const line = (changes: Partial<LaunchPlan>) => launchCommand({ ...plan, ...changes }).args.join(' ');

describe('the command line of a launcher', () => {
  it('has flags for root and for more ranks than cores only where they are needed', () => {
    expect(line({})).toBe('-n 2 --bind-to none --tag-output node a.js');
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

  it('wraps the command when only rank 0 may speak', () => {
    const { args } = launchCommand({ ...plan, output: 'first', errorFolder: '/tmp/x' });
    expect(args.slice(-4)).toEqual(['sh', '/tmp/x', 'node', 'a.js']);
    expect(line({ output: 'first', ranks: 1 })).toBe('-n 1 --bind-to none node a.js');
  });
});
