/**
 * Groups of nodes, by which a map is coloured: classes, node types, the relation of which a node is most often the head, and the
 * tail of a relation with few of them, such as the city of "lives in".
 */
import type { OpenedGraphRun } from '../../train/index.js';
import { compareNaturally } from '../../util/natural-order.js';
import { type EdgeIndex, edgeIndexOf } from './edge-index.js';

/** Groups that have a colour; nodes of others are grey. */
const mostGroups = 7;

/** Relations whose tails are offered as groups. */
const mostTailGroupings = 6;
/** Tails of a relation that is offered, at most: the largest seven of more would be a small share of the nodes. */
const mostTails = 40;

export interface NodeGroups {
  readonly by: 'class' | 'type' | 'relation' | 'tail';
  /** The relation of groups by tail; null otherwise. */
  readonly relation: string | null;
  readonly names: readonly string[];
  /** The group of each node, or −1. */
  readonly groupOf: Int32Array;
}

/** Returns the ways to group the nodes of a run, the most telling one first. */
export async function nodeGroups(run: OpenedGraphRun): Promise<NodeGroups[]> {
  const { dataset, kind } = run;
  const found: NodeGroups[] = [];
  const labels = kind === 'nodes' ? await dataset.readLabels() : null;
  if (labels !== null) {
    const classes = await dataset.classNames();
    found.push(largest('class', listOf(classes), Int32Array.from(labels)));
  }
  const types = await dataset.readNodeTypes();
  if (types !== null) found.push(largest('type', [...(dataset.nodeTypes ?? [])], Int32Array.from(types)));
  if (!dataset.hasRelations) return found;
  const index = await edgeIndexOf(run);
  const relations = listOf(await dataset.relationNames());
  const nodes = await dataset.nodeNames();
  return [...found, byHead(index, relations), ...byTails(index, relations, (id) => nodes.nameOf(id))];
}

interface Names {
  readonly size: number;
  nameOf(id: number): string;
}

const listOf = (names: Names): string[] => Array.from({ length: names.size }, (_, i) => names.nameOf(i));

/** Keeps the largest groups, by name, so that a group has one colour on every page. */
function largest(
  by: NodeGroups['by'],
  names: readonly string[],
  groupOf: Int32Array,
  relation: string | null = null,
): NodeGroups {
  const counts = new Float64Array(names.length);
  for (const group of groupOf) if (group >= 0) counts[group]++;
  const kept = Array.from(names.keys())
    .filter((group) => counts[group] > 0)
    .sort((a, b) => counts[b] - counts[a] || a - b)
    .slice(0, mostGroups)
    .sort((a, b) => compareNaturally(names[a], names[b]));
  const place = new Int32Array(names.length).fill(-1);
  for (const [i, group] of kept.entries()) place[group] = i;
  return {
    ...{ by, relation },
    names: kept.map((group) => names[group]),
    groupOf: groupOf.map((group) => place[group] ?? -1),
  };
}

/** Groups nodes by the relation of which they are most often the head. */
function byHead({ columns, numNodes }: EdgeIndex, relations: readonly string[]): NodeGroups {
  const { src, relations: kinds } = columns;
  const counts = new Map<number, number>();
  for (const [e, head] of src.entries()) {
    const key = head * relations.length + (kinds?.[e] ?? 0);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return largest('relation', relations, mostFrequent(counts, relations.length, numNodes));
}

/** Groups nodes by their tails, for each relation that has few tails and many heads; those with the fewest tails first. */
function byTails(
  { columns, numNodes }: EdgeIndex,
  relations: readonly string[],
  nameOf: (node: number) => string,
): NodeGroups[] {
  const { src, dst, relations: kinds } = columns;
  const edgesOf = new Map<number, number[]>();
  for (const e of src.keys()) {
    const kind = kinds?.[e] ?? 0;
    const own = edgesOf.get(kind);
    if (own === undefined) edgesOf.set(kind, [e]);
    else own.push(e);
  }
  const offered = [...edgesOf].flatMap(([kind, edges]) => {
    const tails = [...new Set(edges.map((e) => dst[e]))].sort((a, b) => a - b);
    const heads = new Set(edges.map((e) => src[e])).size;
    const isTelling = tails.length > 1 && tails.length <= mostTails && heads >= 3 * tails.length;
    return isTelling ? [{ kind, edges, tails }] : [];
  });
  offered.sort((a, b) => a.tails.length - b.tails.length || a.kind - b.kind);
  return offered.slice(0, mostTailGroupings).map(({ kind, edges, tails }) => {
    const place = new Map(tails.map((tail, i) => [tail, i]));
    const counts = new Map<number, number>();
    for (const e of edges) {
      const key = src[e] * tails.length + (place.get(dst[e]) as number);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const groupOf = mostFrequent(counts, tails.length, numNodes);
    // A tail is in the group that is named after it.
    for (const [tail, i] of place) if (groupOf[tail] < 0) groupOf[tail] = i;
    return largest('tail', tails.map(nameOf), groupOf, relations[kind]);
  });
}

/** Returns the group that each node has most often, among equal counts the lower one. @param counts by node · groups + group */
function mostFrequent(counts: ReadonlyMap<number, number>, groups: number, numNodes: number): Int32Array {
  const groupOf = new Int32Array(numNodes).fill(-1);
  const most = new Int32Array(numNodes);
  for (const [key, count] of counts) {
    const [node, group] = [Math.floor(key / groups), key % groups];
    if (count < most[node] || (count === most[node] && group > groupOf[node])) continue;
    most[node] = count;
    groupOf[node] = group;
  }
  return groupOf;
}
