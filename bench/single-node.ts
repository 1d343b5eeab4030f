/**
 * Memory of many workers on one machine, with and without a `PartitionDataManager`: the same training of a GraphSAGE on
 * an R-MAT graph, and the largest sum of the workers' private resident memory, sampled every 5 ms.
 *
 *   npx tsx bench/single-node.ts [workers = 4] [nodes = 100000] [edges = 1000000]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rmat } from 'skein/data';
import {
  constructFullGraph,
  currentCommunicator,
  FileLock,
  gatherGrads,
  loadPartitionData,
  openCommunicator,
  PartitionDataManager,
  partitionData,
  partitionGraph,
  setCommunicator,
  suffixKeyLookup,
  syncParams,
  writePartitions,
} from 'skein/dist';
import { GraphSAGE } from 'skein/gnn';
import { Adam, crossEntropy } from 'skein/nn';
import { emptyPool, manualSeed, randn, scope } from 'skein/tensor';

const [inputs, classes, epochs] = [256, 16, 2];

/** Runs one rank: trains, and reports losses and disk traffic. */
async function work(folder: string, managed: boolean, nodes: number): Promise<void> {
  const comm = openCommunicator();
  setCommunicator(comm);
  writeFileSync(join(folder, `pid-${comm.rank}`), String(process.pid));
  const lock = new FileLock(join(folder, 'lock'));
  const manager = managed
    ? new PartitionDataManager(comm.rank, lock, { folder: join(folder, 'partition_rank_') })
    : null;
  // Loading is included in a worker's time.
  if (manager !== null) lock.acquire();
  const pd = await loadPartitionData(join(folder, 'graph.json'), { rank: comm.rank, workers: comm.size });
  const x = suffixKeyLookup(pd.nodeFeatures, 'x');
  if (manager !== null) {
    manager.partitionData = pd;
    manager.features = x;
  }
  const graph = constructFullGraph(pd, manager === null ? {} : { partitionDataManager: manager, lock });
  manualSeed(1);
  const model = new GraphSAGE([inputs, 256, 256, classes]);
  syncParams(model);
  const optimizer = new Adam(model.parameters(), { lr: 0.01 });
  const labels = Int32Array.from({ length: graph.numDstNodes }, (_, i) => i % classes);
  const start = performance.now();
  const losses: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    const loss = scope(() => {
      optimizer.zeroGrad();
      const own = crossEntropy(model.forward(graph, x), labels, { reduction: 'sum' }).mul(1 / nodes);
      own.backward();
      gatherGrads(model);
      optimizer.step();
      return own.item();
    });
    const total = Float64Array.of(loss);
    currentCommunicator().allReduce(total);
    losses.push(total[0]);
  }
  const seconds = (performance.now() - start) / 1000;
  if (comm.rank === 0)
    writeFileSync(join(folder, 'result.json'), JSON.stringify({ losses, seconds, ...manager?.stats }));
  manager?.delete();
  comm.close();
}

/** Returns the bytes of private memory that a process has in RAM. */
function privateBytes(pid: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

async function measure(folder: string, workers: number, managed: boolean, nodes: number): Promise<object> {
  for (const file of readdirSync(folder)) if (file.startsWith('pid-')) rmSync(join(folder, file));
  const program = [process.execPath, '--import', 'tsx', 'bench/single-node.ts', 'worker'];
  const args = [folder, managed ? 'managed' : 'plain', String(nodes)];
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', 'tsx', 'src/cli/main.ts', 'run', '-n', String(workers), '--', ...program, ...args],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  let [peak, largest] = [0, 0];
  const timer = setInterval(() => {
    const each = Array.from({ length: workers }, (_, rank) => {
      const file = join(folder, `pid-${rank}`);
      return existsSync(file) ? privateBytes(readFileSync(file, 'utf8')) : 0;
    });
    peak = Math.max(
      peak,
      each.reduce((a, b) => a + b, 0),
    );
    largest = Math.max(largest, ...each);
  }, 5);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`the workers ended with code ${code}`);
  const result = JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8')) as object;
  const megabytes = (bytes: number) => Math.round(bytes / 1e6);
  return { workers, managed, peakSumMB: megabytes(peak), largestWorkerMB: megabytes(largest), ...result };
}

if (process.argv[2] === 'worker') {
  await work(process.argv[3], process.argv[4] === 'managed', Number(process.argv[5]));
} else {
  const [workers = 4, nodes = 100_000, edges = 1_000_000] = process.argv.slice(2).map(Number);
  const folder = mkdtempSync(join(tmpdir(), 'skein-single-node-'));
  try {
    manualSeed(2);
    const graph = rmat(nodes, { numEdges: edges, shuffle: true, seed: 7 });
    const cut = partitionGraph(graph, { parts: workers, algorithm: 'random', seed: 1 });
    const split = partitionData(graph, cut, { nodeFeatures: { x: randn([nodes, inputs]) } });
    await writePartitions(folder, split, { name: 'graph' });
    emptyPool(0);
    for (const managed of [false, true])
      console.log(JSON.stringify(await measure(folder, workers, managed, nodes)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
