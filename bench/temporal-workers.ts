/**
 * The cost of a step of temporal training on several workers: `skein run -n 2 -- npx tsx bench/temporal-workers.ts
 * [chunks …]` on Wikipedia's edits (SKEIN_DATA) with examples/wikipedia-tgn.yaml. Prints milliseconds per batch of 200,
 * best of three hundreds of batches: by the clock, and processor time of one worker; for one worker also those of plain
 * training.
 */
import { setThreads } from 'skein';
import { WorkerGroup } from 'skein/dist';
import type { TemporalAssembly } from '#internal/train/tasks/events/assemble.js';
import { assembleTemporal } from '#internal/train/tasks/events/assemble.js';
import { assembleWorkers } from '#internal/train/tasks/events/assemble-workers.js';
import { openStream } from '#internal/train/tasks/events/open-stream.js';
import { loadTemporalConfig } from '#internal/train/tasks/events/run-config.js';

const group = new WorkerGroup();
const chunks = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [8];
setThreads(1);

interface Cost {
  readonly clock: number;
  readonly processor: number;
}

const processor = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** Batches before the measurement of three rounds. */
const warmUp = 20;
const round = 100;

async function measure({ loaders, runtime, mailbox }: TemporalAssembly): Promise<Cost> {
  mailbox?.reset();
  const rounds: Cost[] = [];
  let step = 0;
  let start = { clock: 0, processor: 0 };
  for await (const batch of loaders.train.epoch(0)) {
    const done = step - warmUp;
    if (done >= 0 && done % round === 0) {
      const now = { clock: performance.now(), processor: processor() };
      if (done > 0)
        rounds.push({
          clock: (now.clock - start.clock) / round,
          processor: (now.processor - start.processor) / round,
        });
      start = now;
    }
    if (rounds.length === 3) break;
    runtime.train(batch);
    step++;
  }
  return {
    clock: Math.min(...rounds.map(({ clock }) => clock)),
    processor: Math.min(...rounds.map((one) => one.processor)),
  };
}

function report(name: string, { clock, processor: used }: Cost): void {
  if (group.isRoot)
    console.log(
      `${name.padEnd(28)} ${clock.toFixed(1).padStart(7)} ms   processor ${used.toFixed(1).padStart(6)} ms`,
    );
}

const read = (overrides: readonly string[]) =>
  loadTemporalConfig('examples/wikipedia-tgn.yaml', overrides).config;
const stream = await openStream(read([]));
if (group.size === 1) report('plain', await measure(assembleTemporal(read([]), stream)));
for (const count of chunks) {
  const config = read([`distributed.temporal.chunks=${count}`]);
  report(`${group.size} workers, ${count} chunks`, await measure(assembleWorkers(config, stream, group)));
}
const stale = read(['distributed.temporal.consistency=stale_cache']);
report(`${group.size} workers, stale_cache`, await measure(assembleWorkers(stale, stream, group)));
const local = read(['distributed.temporal.consistency=local']);
report(`${group.size} workers, local`, await measure(assembleWorkers(local, stream, group)));
group.comm.close();
process.exit(0);
