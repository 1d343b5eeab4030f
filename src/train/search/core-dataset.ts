/**
 * The dataset of an early round: the largest core of the training graph with at most a fraction of its edges. Dense parts
 * keep the structure that settings are compared by, which a random sample of edges would lose.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PreparedDataset } from '../../data/index.js';
import { type GraphSplit, prepareGraph } from '../../data/prepare/prepare-graph.js';
import { coreNumbers } from '../../graph/k-core.js';
import { Random } from '../../util/philox.js';

export interface CoreDataset {
  readonly directory: string;
  /** Every node of the core has at least this many neighbours in it. */
  readonly k: number;
  /** The fraction of the nodes that the core has. */
  readonly nodeFraction: number;
}

/** The random stream of validation edges, separate from others with the same seed. */
const splitStream = 0x636f7265;

/** Prepares the core in `<parent>/core-<k>`, unless it is there; edges of validation are drawn from its own edges. */
export async function coreDataset(
  dataset: PreparedDataset,
  fraction: number,
  { parent, seed }: { readonly parent: string; readonly seed: number },
): Promise<CoreDataset> {
  const { num_nodes: numNodes } = dataset.stats;
  const { src, dst, relations } = columnsOf(await dataset.readEdges('train'), dataset.hasRelations);
  const core = coreNumbers({ numNodes, src, dst });
  // An edge is in the cores up to the lower number of its ends.
  const levels = src.map((node, e) => Math.min(core[node], core[dst[e]]));
  const k = largestCore(levels, fraction);
  const ids = new Int32Array(numNodes).fill(-1);
  let count = 0;
  for (let node = 0; node < numNodes; node++) if (core[node] >= k) ids[node] = count++;
  const directory = join(parent, `core-${k}`);
  if (!existsSync(join(directory, 'dataset.yaml'))) {
    const edges = Int32Array.from(levels.keys()).filter((e) => levels[e] >= k);
    shuffle(edges, new Random(seed, splitStream).split(k));
    const held = Math.min(5000, Math.floor(edges.length / 5));
    const pick = (chosen: Int32Array): GraphSplit => ({
      src: chosen.map((e) => ids[src[e]]),
      dst: chosen.map((e) => ids[dst[e]]),
      ...(relations === null ? {} : { relations: chosen.map((e) => relations[e]) }),
    });
    // Trials are not tested.
    await prepareGraph(
      [pick(edges.subarray(held)), pick(edges.subarray(0, held)), pick(edges.subarray(0, 0))],
      {
        ...{ outputDir: directory, numNodes: count },
        ...(relations === null ? {} : { numRelations: dataset.stats.num_relations }),
      },
    );
  }
  return { directory, k, nodeFraction: count / numNodes };
}

/** Returns the lowest k whose core has at most this fraction of the edges, or the innermost core if none is small enough. */
function largestCore(levels: Int32Array, fraction: number): number {
  const highest = levels.reduce((most, level) => Math.max(most, level), 0);
  const edges = new Float64Array(highest + 1);
  for (const level of levels) edges[level]++;
  let within = levels.length;
  for (let k = 0; k < highest; k++) {
    if (within <= fraction * levels.length) return k;
    within -= edges[k];
  }
  return highest;
}

function columnsOf(rows: Int32Array, hasRelations: boolean) {
  const width = hasRelations ? 3 : 2;
  const column = (c: number): Int32Array =>
    Int32Array.from({ length: rows.length / width }, (_, e) => rows[e * width + c]);
  return { src: column(0), dst: column(width - 1), relations: hasRelations ? column(1) : null };
}

function shuffle(ids: Int32Array, random: Random): void {
  for (let i = ids.length - 1; i > 0; i--) {
    const j = random.nextInt(i + 1);
    [ids[i], ids[j]] = [ids[j], ids[i]];
  }
}
