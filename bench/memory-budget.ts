/**
 * `npx tsx bench/memory-budget.ts [--json]`: checks that `storage.memory_budget` holds. Trains one epoch of link
 * prediction on a table larger than each budget, with an evaluation against all nodes, and reads the peak of resident
 * memory from the system, after training and at the end. With --cgroup each run is also put into a memory cgroup of the
 * budget plus 15 %.
 *
 * Options: --nodes (3900000), --edges, --dim (100), --budgets (300M,600M,1G), --held (edges per split), --folder,
 * --keep.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { prepareGraph } from '#internal/data/prepare/prepare-graph.js';
import { rmatEdges } from '#internal/data/rmat.js';
import { parseByteCount } from '#internal/util/index.js';
import { largeTableConfig } from './large-table.js';
import { makeMemoryGroup } from './memory-group.js';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '3900000' },
    edges: { type: 'string', default: '3000000' },
    held: { type: 'string', default: '1000' },
    dim: { type: 'string', default: '100' },
    budgets: { type: 'string', default: '300M,600M,1G' },
    folder: { type: 'string' },
    cgroup: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const [nodes, edges, held, dim] = [values.nodes, values.edges, values.held, values.dim].map(Number);
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'skein-budget-'));
const say = (line: string): void => console.error(line);
/** Factor by which a budget may be exceeded. */
const slack = 1.15;

const data = join(folder, 'data');
if (!existsSync(join(data, 'dataset.yaml'))) {
  const { src, dst } = rmatEdges(nodes, { numEdges: edges, seed: 1 });
  const part = (from: number, to: number) => ({ src: src.slice(from, to), dst: dst.slice(from, to) });
  const ends = [0, edges - 2 * held, edges - held, edges];
  const parts = ends.slice(1).map((end, i) => part(ends[i], end));
  await prepareGraph(parts, { outputDir: data, numNodes: nodes });
}
writeFileSync(join(folder, 'config.yaml'), largeTableConfig(data, dim));

/** Returns the peak of resident memory of a process so far, in MiB. */
function peakOf(pid: number): number {
  const [, kib = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

async function measure(budget: string) {
  const bytes = parseByteCount(budget) as number;
  const run = join(folder, `run-${budget}`);
  const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
  const args = [`--storage.model_dir=${run}`, `--storage.memory_budget=${budget}`];
  const command = [process.execPath, cli, 'train', join(folder, 'config.yaml'), '--json', ...args];
  const group = values.cgroup ? makeMemoryGroup(bytes * slack, say) : null;
  const enter = group === null ? '' : `echo $$ > ${group.enter} && `;
  const child = spawn('sh', ['-c', `${enter}exec ${command.map((arg) => `'${arg}'`).join(' ')}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let [training, whole] = [0, 0];
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, peak_rss_mb: peak } = JSON.parse(line) as { event: string; peak_rss_mb?: number };
    if (event === 'epoch') training = peakOf(child.pid as number);
    if (event === 'done') whole = peak ?? 0;
  }
  const cgroupPeak = group?.peak() ?? null;
  group?.remove();
  rmSync(run, { recursive: true, force: true });
  const limit = (bytes * slack) / 2 ** 20;
  const holds = whole > 0 && training <= limit && whole <= limit;
  return {
    budget,
    limit_mb: limit,
    training_mb: training,
    whole_mb: whole,
    cgroup_peak_mb: cgroupPeak,
    holds,
  };
}

let failed = false;
for (const budget of values.budgets.split(',')) {
  const found = await measure(budget);
  failed ||= !found.holds;
  if (values.json) console.log(JSON.stringify({ bench: 'memory_budget', ...found }));
  else
    console.log(
      `${budget}: ${found.training_mb.toFixed(0)} MiB in training, ${found.whole_mb.toFixed(0)} with evaluation, at most ${found.limit_mb.toFixed(0)}: ${found.holds ? 'holds' : 'EXCEEDED'}`,
    );
}
if (!values.keep) rmSync(folder, { recursive: true, force: true });
if (failed) process.exitCode = 1;
