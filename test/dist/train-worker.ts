/**
 * One rank of the tests of training on several workers: trains the configurations of a file one after the other. Rank 0
 * writes what it saw into `<file>.out`. `train-worker.ts <file> <epoch>` is killed at the end of that epoch.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Output, type SkeinConfig, trainRun } from 'skein/train';
import { openWorkers } from '#internal/train/run/workers.js';

const [path, killedAt = ''] = process.argv.slice(2);
const configs = JSON.parse(readFileSync(path, 'utf8')) as SkeinConfig[];
const group = openWorkers(configs[0].distributed);
const told: object[] = [];
await group.run(async () => {
  for (const config of configs) {
    const events: Record<string, unknown>[] = [];
    const write = (text: string): void => {
      const event = JSON.parse(text) as Record<string, unknown>;
      events.push(event);
      if (event['event'] === 'epoch' && String(event['epoch']) === killedAt)
        process.kill(process.pid, 'SIGKILL');
    };
    const stdout = { write };
    const output = new Output({ json: true, stdout, stderr: { write: () => true } });
    const { directory, test, validation } = await trainRun({ config, output, group });
    const losses = events.filter(({ event }) => event === 'epoch').map(({ loss }) => loss);
    told.push({ directory, test, validation, losses, events: events.length });
  }
});
if (group.isRoot) writeFileSync(`${path}.out`, JSON.stringify(told));
else if (told.some((run) => (run as { events: number }).events > 0)) throw new Error('only rank 0 reports');
