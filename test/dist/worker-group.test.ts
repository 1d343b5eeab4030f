/** Workers of a run: what they agree on, one directory for all, and how errors end them. N = 1 needs no launcher. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SelfCommunicator, WorkerGroup } from 'skein/dist';
import { afterAll, describe, expect, it } from 'vitest';
import { hasMpi, launch, withoutMpi } from './mpi-launch.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-group-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const worker = 'worker-group-worker.ts';

it('one worker agrees with itself, without a copy', async () => {
  const group = new WorkerGroup({ comm: new SelfCommunicator() });
  const value = { deep: [1] };
  expect(group.agree(value)).toBe(value);
  expect(group.gather(value)).toEqual([value]);
  expect([group.any(true), group.any(false), group.all(true), group.sum([2])]).toEqual([
    true,
    false,
    true,
    [2],
  ]);
  const wrong = new Error('mine');
  const fail = async (): Promise<never> => {
    throw wrong;
  };
  for (const run of [group.onRoot(fail), group.onEveryRank(fail), group.run(fail)])
    await expect(run).rejects.toBe(wrong);
});

describe.skipIf(!hasMpi)(`three workers${withoutMpi}`, () => {
  it('see the same, and one directory is written by rank 0', async () => {
    const directory = join(folder, 'agree');
    const { code, lines, err } = await launch(3, [worker, 'agree', directory]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const error = {
      name: 'ConfigError',
      message: 'config: expected a, got b.',
      code: 'SKEIN_CONFIG',
      details: { key: 'a' },
      agreed: true,
      mine: true,
    };
    for (let rank = 0; rank < 3; rank++) {
      expect(JSON.parse(readFileSync(`${directory}.rank${rank}.json`, 'utf8'))).toEqual({
        rank,
        value: { from: 0, list: { 0: 0 }, far: null },
        gathered: [0, 1, 2].map((r) => ({ rank: r, text: 'x'.repeat(r) })),
        sum: [3, 3],
        any: [true, false, true, false],
        highest: [0, 1, 2],
        onRoot: 10,
        rootFails: error,
        oneFails: error,
        everywhere: rank,
        path: directory,
      });
    }
    expect(lines).toEqual([{ event: 'told', rank: 0 }]);
    const log = readFileSync(join(directory, 'log.txt'), 'utf8');
    expect(log).toContain('info  a line of rank 0');
    expect(log).toContain('error trouble of rank 0');
    expect(log).toContain('error rank 1: trouble of rank 1');
    expect(log).not.toContain('a line of rank 1');
    const metrics = readFileSync(join(directory, 'metrics.jsonl'), 'utf8').trim().split('\n');
    expect(metrics.map((line) => JSON.parse(line).rank)).toEqual([0]);
    expect(readFileSync(join(directory, 'done.json'), 'utf8')).toBe('{"rank":0}\n');
  }, 240_000);

  it('end with the error of one, which is in the log', async () => {
    const directory = join(folder, 'fail');
    const { code, err, seconds } = await launch(3, [worker, 'fail', directory]);
    expect(code).not.toBe(0);
    expect(err).toContain('skein: rank 1: the disk of rank 1 is full');
    expect(err).toContain('skein: rank 0: the job was ended by rank 1: the disk of rank 1 is full');
    expect(seconds).toBeLessThan(40);
    expect(readFileSync(join(directory, 'log.txt'), 'utf8')).toContain('rank 1: the disk of rank 1 is full');
  }, 240_000);
});
