/**
 * `npx tsx bench/out-of-core.ts [--json]`: training with a table several times larger than memory against the same
 * training with the whole table in memory. The limited run is put into a memory cgroup whose limit includes the page
 * cache (needs root and Linux; otherwise it runs unlimited and reports that).
 *
 * Options: --nodes, --edges, --dim, --budget (1G), --limit (1.3G), --folder (for data and runs), --keep.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { prepareGraph } from '#internal/data/prepare/prepare-graph.js';
import { rmatEdges } from '#internal/data/rmat.js';
import { parseByteCount } from '#internal/util/index.js';
import { largeTableConfig } from './large-table.js';
import { makeMemoryGroup } from './memory-group.js';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5500000' },
    edges: { type: 'string', default: '12000000' },
    dim: { type: 'string', default: '100' },
    budget: { type: 'string', default: '1G' },
    limit: { type: 'string', default: '1.3G' },
    folder: { type: 'string' },
    keep: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const [nodes, edges, dim] = [values.nodes, values.edges, values.dim].map(Number);
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'skein-out-of-core-'));
const say = (line: string): void => console.error(line);

interface Outcome {
  readonly edges_per_second: number;
  readonly peak_rss_mb: number;
  readonly plan: string;
  readonly cgroup_peak_mb: number | null;
}

function train(name: string, extra: readonly string[], limitBytes: number | null): Outcome {
  const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
  const args = [
    cli,
    'train',
    join(folder, 'config.yaml'),
    '--json',
    `--storage.model_dir=${join(folder, name)}`,
    '--training.save_model=false',
  ];
  const group = limitBytes === null ? null : makeMemoryGroup(limitBytes, say);
  const command = [process.execPath, ...args, ...extra].map((arg) => `'${arg}'`).join(' ');
  const script = group === null ? `exec ${command}` : `echo $$ > ${group.enter} && exec ${command}`;
  const result = spawnSync('sh', ['-c', script], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  try {
    if (result.status !== 0)
      throw new Error(`${name} ended with ${result.status ?? result.signal}: ${result.stderr}`);
    const done = JSON.parse(result.stdout.trim().split('\n').at(-1) ?? '{}') as Outcome;
    return { ...done, plan: result.stderr.trim(), cgroup_peak_mb: group?.peak() ?? null };
  } finally {
    group?.remove();
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

const data = join(folder, 'data');
if (!existsSync(join(data, 'dataset.yaml'))) {
  say(
    `R-MAT graph of ${nodes.toLocaleString('en')} nodes and ${edges.toLocaleString('en')} edges in ${data}`,
  );
  const { src, dst } = rmatEdges(nodes, { numEdges: edges, seed: 1 });
  await prepareGraph([{ src, dst }], { outputDir: data, numNodes: nodes });
}
writeFileSync(join(folder, 'config.yaml'), largeTableConfig(data, dim));
const tableGiB = (nodes * dim * 8) / 2 ** 30;
const whole = train('in-memory', [], null);
say(`in memory: ${Math.round(whole.edges_per_second)} edges/s, ${whole.peak_rss_mb} MB`);
const limited = train(
  'limited',
  [`--storage.memory_budget=${values.budget}`],
  parseByteCount(values.limit) ?? null,
);
say(limited.plan);
say(`limited: ${Math.round(limited.edges_per_second)} edges/s, ${limited.peak_rss_mb} MB`);
console.log(
  JSON.stringify({
    bench: 'out_of_core',
    table_gib: tableGiB,
    in_memory_edges_per_second: whole.edges_per_second,
    in_memory_peak_rss_mb: whole.peak_rss_mb,
    limited_edges_per_second: limited.edges_per_second,
    limited_peak_rss_mb: limited.peak_rss_mb,
    limited_cgroup_peak_mb: limited.cgroup_peak_mb,
    ratio: limited.edges_per_second / whole.edges_per_second,
  }),
);
if (!values.keep) execFileSync('rm', ['-rf', folder]);
