/**
 * The MPI communicator under mpirun: the contract with 1 to 4 ranks, and jobs that end badly. A test launches real processes
 * (mpi-worker.ts) and reads their lines. Skipped where mpirun or the addon is not there.
 */
import { type ChildProcess, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isWide, wide } from '../wide.js';
import { communicatorContract } from './communicator-contract.js';
import {
  hasMpi,
  type Job,
  type LaunchOptions,
  type Line,
  launch as launchWorker,
  withoutMpi,
} from './mpi-launch.js';

function launch(
  ranks: number,
  scene: string,
  settings: object = {},
  options: LaunchOptions = {},
): Promise<Job> {
  return launchWorker(ranks, ['mpi-worker.ts', scene, JSON.stringify(settings)], options);
}

/** Whether a process has ended, including one whose parent has not waited for it yet. */
function hasEnded(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/, ''));
  } catch {
    return true;
  }
}

/** Set-up can build the addon if MPI's compiler wrapper is installed. */
const canCompile =
  existsSync(fileURLToPath(new URL('../../build/skein-portable.node', import.meta.url))) &&
  spawnSync('mpicc', ['--version'], { stdio: 'ignore' }).status === 0;

it.skipIf(!canCompile)(
  'is built where MPI can be compiled against, so that tests are not left out unnoticed',
  () => {
    expect(hasMpi).toBe(true);
  },
);

describe.skipIf(!hasMpi)(`MPI${withoutMpi}`, () => {
  it.each(
    wide<[number, object]>(
      [
        [1, {}],
        [2, { oneSided: true, chunkBytes: 1009 }],
        [3, { chunkBytes: 10_007 }],
      ],
      [
        [2, {}],
        [4, { oneSided: true }],
      ],
    ),
  )(
    'keeps the contract with %i ranks, %o',
    async (ranks, settings) => {
      const { code, lines, err } = await launch(ranks, 'contract', settings);
      expect(lines.filter(({ error }) => error !== '')).toEqual([]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(lines.length).toBe(ranks * communicatorContract.length);
    },
    240_000,
  );

  it('names both sides when ranks call different collectives', async () => {
    const { code, lines } = await launch(2, 'other-lengths');
    expect(code).toBe(0);
    expect(lines.length).toBe(4);
    for (const { error } of lines)
      expect(error).toMatch(/\(collective \d\): expected the same call on all ranks/);
    expect(lines.filter(({ error }) => error?.includes('got barrier from rank 0')).length).toBe(1);
  }, 240_000);

  it('names the difference between calls', async () => {
    const { code, lines } = await launch(2, 'other-operations');
    expect(code).toBe(0);
    const of = (rank: number) => lines.filter((line) => line.rank === rank).map(({ error }) => error);
    expect(of(0)[0]).toMatch(/got allReduce with another operation \(max there, sum here\) from rank 1$/);
    expect(of(1)[1]).toMatch(/got allReduce with another element type \(f64 there, i32 here\) from rank 0$/);
  }, 240_000);

  it.each(wide([3], [2]))(
    'refuses a broadcast with different roots or lengths on all of %i ranks',
    async (ranks) => {
      const { code, lines } = await launch(ranks, 'other-roots');
      expect({ code, lines: lines.length }).toEqual({ code: 0, lines: 3 * ranks });
      for (let rank = 0; rank < ranks; rank++) {
        const [roots, lengths, later] = lines.filter((line) => line.rank === rank).map(({ error }) => error);
        expect(roots).toMatch(/broadcast with another root \(rank \d there, rank \d here\) from rank \d$/);
        expect(lengths).toMatch(/another length \((8 bytes there, 12|12 bytes there, 8) bytes here\)/);
        expect(later).toBe('');
      }
    },
    240_000,
  );

  it('is opened once per process, and the error names the alternative', async () => {
    const { code, lines } = await launch(2, 'opens-twice');
    expect({ code, lines: lines.length }).toEqual({ code: 0, lines: 6 });
    const [current, second, closed] = lines.filter(({ rank }) => rank === 0).map(({ error }) => error);
    expect(current).toBe('');
    expect(second).toMatch(/one communicator per process.*Use currentCommunicator\(\)/);
    expect(closed).toMatch(/MPI cannot start again/);
  }, 240_000);

  it.each([
    [
      'ends-in-collective',
      /got the end of its program from rank 1|program of rank 1 has ended.* in allReduce/,
    ],
    ['ends-before-message', /recv \(tag 7, from rank 1\): the program of rank 1 .* has ended/],
  ])(
    'says that a program has ended while others wait for it: %s',
    async (scene, text) => {
      const { code, err, seconds } = await launch(3, scene);
      expect(code).not.toBe(0);
      expect(err).toMatch(text);
      expect(seconds).toBeLessThan(15);
    },
    240_000,
  );

  it('gives up a receive without an answer, and lists what did arrive', async () => {
    const { code, lines } = await launch(2, 'unknown-tag', { timeout: 3 });
    expect(code).toBe(0);
    expect(lines.map(({ rank }) => rank).sort()).toEqual([0, 1]);
    for (const { rank, error } of lines) {
      expect(error).toContain(`recv (tag 99, from rank ${1 - rank}): not complete after 3.0 s`);
      expect(error).toMatch(/is alive.*unclaimed messages from it: tag 98 \(8 bytes\)/);
    }
  }, 240_000);

  it('does not take a busy peer for a dead one', async () => {
    const { code, lines } = await launch(2, 'busy-peer', { peerTimeout: 1 });
    expect({ code, ranks: lines.length }).toEqual({ code: 0, ranks: 2 });
  }, 240_000);

  it('reduces while JavaScript computes', async () => {
    const { code, lines } = await launch(2, 'overlap');
    expect(code).toBe(0);
    expect(lines.map(({ error }) => error)).toEqual(['', '']);
  }, 240_000);

  // The other rank gives up after its peer's time; on a busy machine this one needs seconds to do so.
  it.runIf(isWide)(
    'does not close while a long message has not been received',
    { timeout: 240_000, retry: 2 },
    async () => {
      const { code, err } = await launch(2, 'never-received', { peerTimeout: 40 });
      expect(code).not.toBe(0);
      expect(err).toContain('rank 0: close: send (tag 5, to rank 1) was never completed');
    },
  );

  it('answers row requests while JavaScript computes', async () => {
    const { code, lines } = await launch(2, 'rows-while-computing');
    expect(code).toBe(0);
    expect(lines.find(({ rank }) => rank === 0)?.milliseconds).toBeLessThan(1000);
  }, 240_000);

  it('ends on all ranks when one is killed, and names the rank and its operation', async () => {
    const { code, err, seconds } = await launch(3, 'killed');
    expect(code).not.toBe(0);
    for (const rank of [0, 2])
      expect(err).toMatch(
        new RegExp(
          `skein: rank ${rank}: .*rank 1 \\(host .*is gone; waiting in recv \\(tag 42, from rank 1\\)`,
        ),
      );
    expect(seconds).toBeLessThan(20);
  }, 240_000);

  it.each(wide([], [130, 0, 410]))(
    'ends on all ranks when one is killed %i ms into its work',
    async (delay) => {
      let waiting = true;
      const onLines = (lines: readonly Line[]) => {
        const pid = lines.find(({ rank }) => rank === 1)?.pid;
        if (lines.length < 3 || pid === undefined || !waiting) return;
        waiting = false;
        setTimeout(() => process.kill(pid, 'SIGKILL'), delay);
      };
      const { code, err, seconds } = await launch(3, 'killed-at-work', {}, { onLines });
      expect(code).not.toBe(0);
      for (const rank of [0, 2])
        expect(err).toMatch(
          new RegExp(`skein: rank ${rank}: .*rank 1 \\(host .*is gone; waiting in (allReduce|getRows)`),
        );
      expect(seconds).toBeLessThan(20);
    },
    240_000,
  );

  it.skipIf(process.platform !== 'linux')(
    'ends by itself when the launcher cannot',
    async () => {
      let ended = -1;
      let stopped = false;
      const onLines = async (lines: readonly Line[], launcher: ChildProcess) => {
        if (lines.length < 2 || stopped) return;
        stopped = true;
        const pid = (rank: number) => lines.find((line) => line.rank === rank)?.pid ?? 0;
        // A rank says its process before it waits; what it waits in is a part of the message.
        await new Promise((resolve) => setTimeout(resolve, 1000));
        // The launcher sees nothing and can do nothing: neither reap the dead rank nor carry out MPI_Abort.
        launcher.kill('SIGSTOP');
        process.kill(pid(1), 'SIGKILL');
        const start = performance.now();
        while (!hasEnded(pid(0)) && performance.now() - start < 15_000)
          await new Promise((resolve) => setTimeout(resolve, 50));
        ended = hasEnded(pid(0)) ? performance.now() - start : Infinity;
        launcher.kill('SIGCONT');
      };
      const { code, err } = await launch(2, 'orphans', {}, { onLines });
      expect(code).not.toBe(0);
      expect(ended).toBeGreaterThanOrEqual(0);
      expect(ended).toBeLessThan(10_000);
      expect(err).toMatch(/rank 0: rank 1 .*is gone; waiting in recv \(tag 42, from rank 1\)/);
    },
    240_000,
  );

  it('ends when a peer falls silent', async () => {
    const { code, err } = await launch(2, 'stopped', { peerTimeout: 2 });
    expect(code).not.toBe(0);
    expect(err).toMatch(/rank 0: rank 1 .*has been silent for \d.*waiting in allReduce \(collective 2\)/);
  }, 240_000);

  it('reports the reason of an abort on all ranks, also on those that compute', async () => {
    const { code, err, seconds } = await launch(3, 'abort');
    expect(code).not.toBe(0);
    expect(err).toContain('rank 2: the loss is not a number');
    for (const rank of [0, 1])
      expect(err).toContain(`rank ${rank}: the job was ended by rank 2: the loss is not a number`);
    expect(seconds).toBeLessThan(18);
  }, 240_000);

  it('ends the job with the message of an exception', async () => {
    const { code, err } = await launch(2, 'throws');
    expect(code).not.toBe(0);
    expect(err).toMatch(/rank 1: the job was ended by rank 0: .*before close\(\): a mistake in the program/);
  }, 240_000);

  it('closes at a regular end if the program did not', async () => {
    expect(await launch(2, 'forgets')).toMatchObject({ code: 0, err: '' });
  }, 240_000);
});
