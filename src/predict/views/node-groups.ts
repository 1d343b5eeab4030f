/**
 * Groups of nodes, by which a map is coloured: classes, node types, the relation of which a node is most often the head, and the
 * tail of a relation with few of them, such as the city of "lives in".
 */
import type { OpenedGraphRun } from '../../train/index.js';
import { compareNaturally } from '../../util/natural-order.js';
import { type EdgeColumns, type EdgeIndex, edgeIndexOf } from './edge-index.js';
import { oncePerRun } from './once-per-run.js';
import { mostFrequent, sortedAtNodes } from './sorted-at-nodes.js';

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
export const nodeGroups: (run: OpenedGraphRun) => Promise<readonly NodeGroups[]> = oncePerRun(group);

async function group(run: OpenedGraphRun): Promise<readonly NodeGroups[]> {
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
  return largest('relation', relations, mostFrequent(sortedAtNodes(src, numNodes, (e) => kinds?.[e] ?? 0)));
}

/** The edges of a relation, and the nodes at their ends. */
interface RelationEnds {
  readonly kind: number;
  readonly heads: Int32Array;
  readonly edgeTails: Int32Array;
  /** Each tail once, ascending. */
  readonly tails: readonly number[];
}

/** Groups nodes by their tails, for each relation that has few tails and many heads; those with the fewest tails first. */
function byTails(
  { columns, numNodes }: EdgeIndex,
  relations: readonly string[],
  nameOf: (node: number) => string,
): NodeGroups[] {
  const offered = tellingRelations(columns, relations.length, numNodes);
  offered.sort((a, b) => a.tails.length - b.tails.length || a.kind - b.kind);
  return offered.slice(0, mostTailGroupings).map(({ kind, heads, edgeTails, tails }) => {
    const place = new Map(tails.map((tail, i) => [tail, i]));
    const groupOf = mostFrequent(sortedAtNodes(heads, numNodes, (i) => place.get(edgeTails[i]) as number));
    // A tail is in the group that is named after it.
    for (const [tail, i] of place) if (groupOf[tail] < 0) groupOf[tail] = i;
    return largest('tail', tails.map(nameOf), groupOf, relations[kind]);
  });
}

/** Returns the relations with few tails, and at least three heads for each. */
function tellingRelations(
  { src, dst, relations: kinds }: EdgeColumns,
  numRelations: number,
  numNodes: number,
): RelationEnds[] {
  const edges = sortedAtNodes(kinds ?? new Int32Array(src.length), numRelations, (e) => e);
  const counted = new Int32Array(numNodes);
  return Array.from({ length: numRelations }, (_, kind) => kind).flatMap((kind) => {
    const own = edges.values.subarray(edges.offsets[kind], edges.offsets[kind + 1]);
    const tails = new Set<number>();
    for (const e of own) if (tails.size <= mostTails) tails.add(dst[e]);
    if (tails.size < 2 || tails.size > mostTails) return [];
    const heads = Int32Array.from(own, (e) => src[e]);
    let numHeads = 0;
    for (const head of heads) {
      if (counted[head] !== kind + 1) numHeads++;
      counted[head] = kind + 1;
    }
    if (numHeads < 3 * tails.size) return [];
    const edgeTails = Int32Array.from(own, (e) => dst[e]);
    return [{ kind, heads, edgeTails, tails: [...tails].sort((a, b) => a - b) }];
  });
}
