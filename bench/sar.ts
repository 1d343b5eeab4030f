/**
 * `npx tsx bench/sar.ts [--json]`: whole-graph training partitioned over workers, on one machine with one thread per
 * worker: peak of tensor bytes per worker, the plan's prediction, seconds, bytes and rounds per epoch. Needs mpirun.
 *
 * Options: --nodes, --edges, --workers 1,2,4,8, --models sage,gat, --modes sar,sa,one_shot, --graphs rmat,dense (dense:
 * edges equally likely, partitioned at random, so that workers need nearly all rows of each other), --epochs, --depth,
 * --algorithm.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { SarJob } from './sar-worker.js';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '200000' },
    edges: { type: 'string', default: '4000000' },
    workers: { type: 'string', default: '1,2,4,8' },
    models: { type: 'string', default: 'sage,gat' },
    modes: { type: 'string', default: 'sar,sa,one_shot' },
    graphs: { type: 'string', default: 'rmat,dense' },
    algorithm: { type: 'string', default: 'random' },
    epochs: { type: 'string', default: '1' },
    depth: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const list = (text: string): string[] => text.split(',');
const worker = fileURLToPath(new URL('./sar-worker.ts', import.meta.url));
const isOpenMpi = spawnSync('mpirun', ['--version'], { encoding: 'utf8' }).stdout?.includes('Open MPI');
const flags = isOpenMpi
  ? ['--allow-run-as-root', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1']
  : [];

export interface SarResult extends SarJob {
  readonly workers: number;
  readonly peak_mb: number;
  readonly planned_mb: number;
  readonly seconds: number;
  readonly bytes_sent_mb: number;
  readonly rounds: number;
  readonly messages: number;
  readonly halo: number;
  readonly worst_halo: number;
  readonly worst_rows: number;
  readonly rss_mb: number;
  readonly loss: number;
}

function run(job: SarJob, workers: number): SarResult {
  const program = [process.execPath, '--import', 'tsx', worker, JSON.stringify(job)];
  const { stdout, stderr, status } = spawnSync('mpirun', [...flags, '-n', String(workers), ...program], {
    encoding: 'utf8',
    env: { ...process.env, SKEIN_THREADS: '1' },
  });
  const line = stdout.split('\n').find((text) => text.startsWith('{'));
  if (status !== 0 || line === undefined) throw new Error(`bench/sar: a job failed: ${stderr}${stdout}`);
  return JSON.parse(line) as SarResult;
}

const mb = (value: number): string => value.toFixed(0).padStart(7);

for (const graph of list(values.graphs)) {
  for (const model of list(values.models)) {
    for (const mode of list(values.modes)) {
      let alone: SarResult | null = null;
      for (const workers of list(values.workers).map(Number)) {
        const job: SarJob = {
          model: model as SarJob['model'],
          mode: mode as SarJob['mode'],
          nodes: Number(values.nodes),
          edges: Number(values.edges),
          algorithm: values.algorithm as SarJob['algorithm'],
          epochs: Number(values.epochs),
          depth: Number(values.depth),
          skew: graph === 'dense' ? 0.25 : 0.57,
        };
        const result = run(job, workers);
        if (workers === 1) alone = result;
        if (values.json) {
          console.log(JSON.stringify({ graph, ...result }));
          continue;
        }
        const total = (workers * result.peak_mb) / (alone?.peak_mb ?? Number.NaN);
        const error = (100 * (result.planned_mb - result.peak_mb)) / result.peak_mb;
        console.log(
          `${graph.padEnd(6)}${model.padEnd(5)}${mode.padEnd(9)}N ${workers}  peak${mb(result.peak_mb)} MB  ` +
            `N·peak ${total.toFixed(2)} of one  plan ${error.toFixed(1)} %  ${result.seconds.toFixed(2)} s  ` +
            `sent${mb(result.bytes_sent_mb)} MB  ${result.rounds} rounds  ${result.messages} messages`,
        );
      }
    }
  }
}
