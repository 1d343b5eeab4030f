/**
 * The edges of one type that a worker holds, from its `PartitionData`: all shards joined, in ascending order of global
 * edge ids, as on one machine.
 */
import { concat, gatherRows, noGrad, type Tensor } from '../../tensor/index.js';
import { unscoped } from '../../tensor/scope.js';
import type { PartitionData } from '../partition/partition-data.js';

export interface RelationEdges {
  /** 'src:relation:dst' */
  readonly name: string;
  /** Global ids. */
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly edgeIds: Int32Array;
  /** By name, in the order of the edges. */
  readonly features: Readonly<Record<string, Tensor>>;
}

/** @param type index into `edgeTypeNames`. */
export function relationEdges(pd: PartitionData, type: number): RelationEdges {
  const ranges = pd.allShardEdges.map((shard) => {
    const { edgeTypes } = shard;
    let [from, to] = [0, shard.src.length];
    if (edgeTypes !== null) {
      from = lowerBound(edgeTypes, type);
      to = lowerBound(edgeTypes, type + 1);
    }
    return { shard, from, to };
  });
  const join = (name: 'src' | 'dst' | 'edgeIds'): Int32Array => {
    const all = new Int32Array(ranges.reduce((sum, { from, to }) => sum + to - from, 0));
    let at = 0;
    for (const { shard, from, to } of ranges) {
      all.set(shard[name].subarray(from, to), at);
      at += to - from;
    }
    return all;
  };
  const ids = join('edgeIds');
  const order = ascendingOrder(ids);
  const sorted = (values: Int32Array): Int32Array =>
    order === null ? values : order.map((place) => values[place]);
  return {
    name: pd.edgeTypeNames[type],
    src: sorted(join('src')),
    dst: sorted(join('dst')),
    edgeIds: sorted(ids),
    features: features(pd, type, order),
  };
}

function features(pd: PartitionData, type: number, order: Int32Array | null): Record<string, Tensor> {
  const prefix = `${pd.edgeTypeNames[type]}/`;
  const names = new Set(
    pd.allShardEdges.flatMap(({ edgeFeatures }) =>
      Object.keys(edgeFeatures).filter((name) => name.startsWith(prefix)),
    ),
  );
  const found: Record<string, Tensor> = {};
  for (const name of names) {
    const parts = pd.allShardEdges.flatMap(({ edgeFeatures }) =>
      Object.hasOwn(edgeFeatures, name) ? [edgeFeatures[name]] : [],
    );
    found[name.slice(prefix.length)] = unscoped(() =>
      noGrad(() => {
        const all = parts.length === 1 ? parts[0] : concat(parts, 0);
        return order === null ? all : gatherRows(all, order);
      }),
    );
  }
  return found;
}

/** Returns the indices of the ids in ascending order; null if they ascend already. */
function ascendingOrder(ids: Int32Array): Int32Array | null {
  let [lo, hi] = [Infinity, -Infinity];
  let ascending = true;
  for (let i = 0; i < ids.length; i++) {
    if (i > 0 && ids[i] < ids[i - 1]) ascending = false;
    lo = Math.min(lo, ids[i]);
    hi = Math.max(hi, ids[i]);
  }
  if (ascending) return null;
  const order = new Int32Array(ids.length);
  // A worker's ids are almost one range: then a counting sort suffices.
  if (hi - lo < 4 * ids.length) {
    const positionOf = new Int32Array(hi - lo + 1).fill(-1);
    for (let i = 0; i < ids.length; i++) positionOf[ids[i] - lo] = i;
    let at = 0;
    for (const place of positionOf) if (place >= 0) order[at++] = place;
    if (at === ids.length) return order;
  }
  for (let i = 0; i < order.length; i++) order[i] = i;
  return order.sort((a, b) => ids[a] - ids[b]);
}

function lowerBound(sorted: Int32Array, value: number): number {
  let [lo, hi] = [0, sorted.length];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (sorted[mid] < value) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
