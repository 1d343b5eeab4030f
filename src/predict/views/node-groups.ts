/** Groups of nodes, by which a map is coloured: classes, node types, or the relation of which a node is most often the head. */
import type { PreparedDataset } from '../../data/index.js';
import type { OpenedGraphRun } from '../../train/index.js';

/** Groups that have a colour of their own; nodes of others are grey. */
export const mostGroups = 7;

export interface NodeGroups {
  readonly by: 'class' | 'type' | 'relation' | null;
  readonly names: readonly string[];
  /** The group of each node, or −1. */
  readonly groupOf: Int32Array;
}

export async function nodeGroups({ dataset, kind }: OpenedGraphRun): Promise<NodeGroups> {
  const labels = kind === 'nodes' ? await dataset.readLabels() : null;
  if (labels !== null) {
    const classes = await dataset.classNames();
    const all = Array.from({ length: classes.size }, (_, i) => classes.nameOf(i));
    return mostFrequent('class', all, Int32Array.from(labels));
  }
  const types = await dataset.readNodeTypes();
  if (types !== null) return mostFrequent('type', [...(dataset.nodeTypes ?? [])], Int32Array.from(types));
  if (dataset.hasRelations) return groupsByRelation(dataset);
  return { by: null, names: [], groupOf: new Int32Array(dataset.stats.num_nodes).fill(-1) };
}

/** Keeps the largest groups, in the order of their names' list. */
function mostFrequent(by: NodeGroups['by'], names: readonly string[], groupOf: Int32Array): NodeGroups {
  const counts = new Float64Array(names.length);
  for (const group of groupOf) if (group >= 0) counts[group]++;
  const kept = Array.from(names.keys())
    .sort((a, b) => counts[b] - counts[a] || a - b)
    .slice(0, mostGroups)
    .sort((a, b) => a - b);
  const place = new Int32Array(names.length).fill(-1);
  for (const [i, group] of kept.entries()) place[group] = i;
  return {
    by,
    names: kept.map((group) => names[group]),
    groupOf: groupOf.map((group) => place[group] ?? -1),
  };
}

async function groupsByRelation(dataset: PreparedDataset): Promise<NodeGroups> {
  const edges = await dataset.readEdges('train');
  const names = await dataset.relationNames();
  const counts = new Map<number, number>();
  for (let i = 0; i < edges.length; i += 3) {
    const key = edges[i] * names.size + edges[i + 1];
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const groupOf = new Int32Array(dataset.stats.num_nodes).fill(-1);
  const most = new Int32Array(groupOf.length);
  // Keys are in the order of the edges; among equal counts the lower relation is taken.
  for (const [key, count] of counts) {
    const [node, relation] = [Math.floor(key / names.size), key % names.size];
    if (count < most[node] || (count === most[node] && relation > groupOf[node])) continue;
    most[node] = count;
    groupOf[node] = relation;
  }
  return mostFrequent(
    'relation',
    Array.from({ length: names.size }, (_, i) => names.nameOf(i)),
    groupOf,
  );
}
