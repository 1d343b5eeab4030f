/**
 * One rank of worker-group.test.ts: `agree` prints what each rank receives, in `fail` one rank throws while the others
 * wait.
 */
import { writeFileSync } from 'node:fs';
import type { WorkerGroup } from 'skein/dist';
import { Output } from 'skein/train';
import { ConfigError } from 'skein/util';
import { RunDirectory } from '#internal/train/run/run-directory.js';
import { openWorkers, outputOf } from '#internal/train/run/workers.js';
import { isCollective } from '#internal/util/errors.js';

const [scene, directory] = process.argv.slice(2);
const group: WorkerGroup = openWorkers(null);
const { rank } = group;

const openRun = () =>
  RunDirectory.openAt({
    directory,
    parent: '.',
    level: 'info',
    resume: false,
    resolved: (path) => `path: ${path}\n`,
    group,
  });

async function failure(work: () => Promise<unknown>): Promise<object> {
  try {
    await work();
    return { error: null };
  } catch (error) {
    const { name, message } = error as Error;
    const { code, details } = error as ConfigError;
    return { name, message, code, details, agreed: isCollective(error), mine: error instanceof ConfigError };
  }
}

async function agree(): Promise<object> {
  const wrong = (): never => {
    throw new ConfigError('config: expected a, got b.', { key: 'a' });
  };
  using run = await openRun();
  run.log('info', `a line of rank ${rank}`);
  run.log('error', `trouble of rank ${rank}`);
  run.record({ event: 'epoch', rank });
  outputOf(group, new Output({ json: true })).event('told', { rank });
  await run.finish({ rank });
  group.comm.barrier();
  return {
    rank,
    value: group.agree({ from: rank, list: Int32Array.of(rank), none: undefined, far: Infinity }),
    gathered: group.gather({ rank, text: 'x'.repeat(rank) }),
    sum: group.sum([rank, 1]),
    any: [group.any(rank === 1), group.any(false), group.all(true), group.all(rank !== 1)],
    highest: [group.highest(0), group.highest(rank === 1 ? 1 : 0), group.highest(rank)],
    onRoot: await group.onRoot(() => rank + 10),
    rootFails: await failure(() => group.onRoot(wrong)),
    oneFails: await failure(() => group.onEveryRank(() => (rank === 1 ? wrong() : rank))),
    everywhere: await group.onEveryRank(() => rank),
    path: run.path,
  };
}

async function fail(): Promise<object> {
  using run = await openRun();
  return group.run(
    async () => {
      if (rank === 1) throw new Error('the disk of rank 1 is full');
      group.comm.barrier();
      return {};
    },
    (error) => run.log('error', (error as Error).message),
  );
}

const told = await (scene === 'agree' ? agree() : fail());
writeFileSync(`${directory}.rank${rank}.json`, JSON.stringify(told));
