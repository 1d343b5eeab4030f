/**
 * Sampling over several workers: time and fetched rows per batch, for each sampling mode.
 *
 *   npx skein run -n 2 -- npx tsx bench/dist-sampling.ts [nodes = 100000] [edges = 1000000]     an R-MAT graph
 *   npx skein run -n 2 -- npx tsx bench/dist-sampling.ts amazon-computers [batch size = 200]    a dataset of nodes
 */
import { type DatasetName, loadDataset, rmat } from 'skein/data';
import {
  DataLoader,
  DistGraph,
  DistNeighborSampler,
  openCommunicator,
  partitionData,
  partitionGraph,
  setCommunicator,
} from 'skein/dist';
import { randn } from 'skein/tensor';

const [what = '100000', more] = process.argv.slice(2);
const width = 100;

async function input() {
  if (/^\d+$/.test(what)) {
    const graph = rmat(Number(what), { numEdges: Number(more ?? 1_000_000), shuffle: true, seed: 7 });
    return { graph, batchSize: 1000 };
  }
  const dataset = await loadDataset(what as DatasetName);
  if (dataset.kind !== 'nodes') throw new Error(`${what} is not a dataset of nodes`);
  return { graph: dataset.graph, batchSize: Number(more ?? 200) };
}

const comm = openCommunicator();
setCommunicator(comm);
const { graph: whole, batchSize } = await input();
const nodes = whole.numNodes;
const cut = partitionGraph(whole, { parts: comm.size, algorithm: 'metis', seed: 1 });
const pd = partitionData(whole, cut).forWorker(comm.rank);
const { start, end } = pd.nodeRanges[comm.rank];
const features = randn([end - start, width]);
// A tenth of the nodes are seeds, as in common datasets.
const seeds = Int32Array.from({ length: Math.floor((end - start) / 10) }, (_, i) => start + i * 10);

interface Way {
  readonly name: string;
  readonly hybrid?: boolean;
  readonly cacheRows?: number;
  readonly clusters?: boolean;
  readonly prefetch?: number;
}

const ways: Way[] = [
  { name: 'plain' },
  { name: 'no prefetch', prefetch: 0 },
  { name: 'hybrid', hybrid: true },
  { name: 'cache of a tenth of all rows', cacheRows: Math.floor(nodes / 10) },
  { name: 'optimized batches', clusters: true },
  { name: 'optimized batches and cache', clusters: true, cacheRows: Math.floor(nodes / 10) },
];

for (const { name, hybrid = false, cacheRows = 0, clusters = false, prefetch = 1 } of ways) {
  const graph = DistGraph.fromPartitionData(pd, { comm, hybrid });
  const table = graph.openTable('features', features, { cacheRows });
  const sampler = new DistNeighborSampler([15, 10, 5], { inputNodeFeatures: { x: table } });
  const loader = new DataLoader(graph, seeds, sampler, {
    ...{ batchSize, shuffle: true, prefetch, precomputeOptimizedBatches: clusters },
  });
  let best = Infinity;
  let sampled = 0;
  for (let epoch = 0; epoch < 3; epoch++) {
    comm.barrier();
    const before = performance.now();
    for (const blocks of loader) sampled += blocks[0].numSrcNodes;
    best = Math.min(best, performance.now() - before);
  }
  const { fetchedRows, hits, misses } = table.store.stats;
  const batches = 3 * loader.length;
  if (comm.rank === 0)
    console.log(
      JSON.stringify({
        ...{
          name,
          workers: comm.size,
          batches: loader.length,
          msPerBatch: +(best / loader.length).toFixed(1),
        },
        nodesPerBatch: Math.round(sampled / batches),
        fetchedRowsPerBatch: Math.round(fetchedRows / batches),
        hitRate: hits + misses === 0 ? null : +(hits / (hits + misses)).toFixed(3),
      }),
    );
  comm.barrier();
  graph.close();
}
comm.close();
