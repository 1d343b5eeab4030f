/** The rows of a model's nodes as points of the plane. */
import type { OpenedGraphRun } from '../../train/index.js';
import { principalPlane } from '../map/principal-components.js';
import { umap } from '../map/umap.js';
import { rowsOf } from '../top-nodes.js';
import { edgeIndexOf } from './edge-index.js';
import { type NodeGroups, nodeGroups } from './node-groups.js';

export type MapMethod = 'pca' | 'umap';

export interface EmbeddingMapOptions {
  /** `pca`: the plane that keeps most variance. `umap`: keeps neighbours together. */
  readonly method: MapMethod;
  /** Maximum number of nodes: of more, some at equal distances are taken. */
  readonly limit: number;
  readonly onProgress?: (done: number) => void;
  readonly signal?: AbortSignal;
}

export interface EmbeddingMap {
  readonly method: MapMethod;
  /** Node ids of the points. */
  readonly ids: Int32Array;
  readonly x: Float32Array;
  readonly y: Float32Array;
  /** Ways to colour the points; see `nodeGroups`. */
  readonly groupings: readonly MapGroups[];
  /** Number of edges of each point's node. */
  readonly degree: Int32Array;
  /** Number of nodes of the graph. */
  readonly total: number;
  /** Share of the variance that the plane keeps; null for another method. */
  readonly explained: number | null;
}

export interface MapGroups extends Omit<NodeGroups, 'groupOf'> {
  /** The group of each point, or −1. */
  readonly group: Int8Array;
}

/** Nodes that a layout by neighbours takes within seconds. */
const mostUmapNodes = 20_000;

/** Maps by run and options: a layout by neighbours takes seconds, and pages ask for the same one again. */
const made = new WeakMap<OpenedGraphRun, Map<string, EmbeddingMap>>();
const mostKept = 4;

/** Returns the map of a run; one that has been made before is kept. */
export async function embeddingMap(run: OpenedGraphRun, options: EmbeddingMapOptions): Promise<EmbeddingMap> {
  const kept = made.get(run) ?? new Map<string, EmbeddingMap>();
  made.set(run, kept);
  const key = `${options.method} ${options.limit}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const map = await makeMap(run, options);
  kept.set(key, map);
  const [oldest] = kept.keys();
  if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
  return map;
}

async function makeMap(run: OpenedGraphRun, options: EmbeddingMapOptions): Promise<EmbeddingMap> {
  const { method, limit, onProgress, signal } = options;
  const { num_nodes: total } = run.dataset.stats;
  const count = Math.min(total, method === 'umap' ? Math.min(limit, mostUmapNodes) : limit);
  const ids = Int32Array.from({ length: count }, (_, i) => Math.floor((i * total) / count));
  const { rows, width } = await rowsOf(run, ids);
  const plane =
    method === 'pca'
      ? principalPlane(rows, width)
      : {
          ...(await umap(rows, width, { ...(onProgress === undefined ? {} : { onProgress }), signal })),
          explained: null,
        };
  const groups = await nodeGroups(run);
  const index = await edgeIndexOf(run);
  return {
    ...{ method, ids, total },
    groupings: groups.map(({ groupOf, ...rest }) => ({
      ...rest,
      group: Int8Array.from(ids, (id) => groupOf[id]),
    })),
    x: Float32Array.from(plane.x),
    y: Float32Array.from(plane.y),
    degree: ids.map((id) => index.degree(id)),
    explained: plane.explained === null ? null : plane.explained[0] + plane.explained[1],
  };
}
