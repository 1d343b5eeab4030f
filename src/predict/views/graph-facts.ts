/** Describes the data of a run: sizes, degrees, relations, components, splits, missing values. */
import type { OpenedGraphRun } from '../../train/index.js';
import { type ColumnFacts, columnFacts } from './column-facts.js';
import { type EdgeIndex, edgeIndexOf, edgeSplits } from './edge-index.js';
import { oncePerRun } from './once-per-run.js';
import { countRepeats, sortedAtNodes } from './sorted-at-nodes.js';

export interface DegreeCurve {
  readonly name: string;
  /** Degrees that occur, ascending, and the share of nodes with at least that many edges. */
  readonly degrees: readonly number[];
  readonly shares: readonly number[];
}

export interface GraphFacts {
  readonly nodes: number;
  readonly edges: Readonly<Record<string, number>>;
  readonly relations: readonly { readonly name: string; readonly edges: number }[];
  readonly types: readonly { readonly name: string; readonly nodes: number }[];
  readonly classes: readonly { readonly name: string; readonly nodes: number }[];
  readonly nodeSplits: Readonly<Record<string, number>> | null;
  readonly features: number;
  /** Columns of the node table; none if features did not come from one. */
  readonly columns: readonly ColumnFacts[];
  /** Nodes without a class; 0 for a run that does not classify nodes. */
  readonly unlabelled: number;
  readonly degrees: readonly DegreeCurve[];
  /** Nodes with the most edges. */
  readonly hubs: readonly { readonly name: string; readonly edges: number }[];
  readonly components: { readonly count: number; readonly largest: number; readonly isolated: number };
  readonly selfLoops: number;
  readonly duplicates: number;
  /** Nodes of held-out edges that no training edge has. */
  readonly unseen: number;
  /** Sentences about what lowers the trust in a result. */
  readonly notes: readonly string[];
}

const mostHubs = 10;

/** Describes the data of a run; counted once, because it looks at every edge. */
export const graphFacts: (run: OpenedGraphRun) => Promise<GraphFacts> = oncePerRun(describe);

async function describe(run: OpenedGraphRun): Promise<GraphFacts> {
  const { dataset } = run;
  const index = await edgeIndexOf(run);
  const names = await dataset.nodeNames();
  const { src, dst } = index.columns;
  const base = {
    nodes: index.numNodes,
    edges: countSplits(index),
    relations: await relationCounts(run, index),
    types: await typeCounts(run),
    classes: await classCounts(run),
    nodeSplits: await nodeSplits(run),
    features: run.storage.features?.width ?? 0,
    columns: await columnFacts(run),
    unlabelled: await unlabelled(run),
    degrees: [degreeCurve('outgoing', src, index.numNodes), degreeCurve('incoming', dst, index.numNodes)],
    hubs: hubs(index).map((node) => ({ name: names.nameOf(node), edges: index.degree(node) })),
    components: components(index),
    selfLoops: src.reduce((count, node, e) => count + Number(node === dst[e]), 0),
    duplicates: duplicates(index),
    unseen: unseenNodes(index),
  };
  return { ...base, notes: notes(base) };
}

function countSplits({ columns: { src, splits } }: EdgeIndex): Record<string, number> {
  const counts = [0, 0, 0];
  for (let e = 0; e < src.length; e++) counts[splits?.[e] ?? 0]++;
  return Object.fromEntries(
    edgeSplits.flatMap((split, i) => (i === 0 || splits !== null ? [[split, counts[i]]] : [])),
  );
}

async function relationCounts({ dataset }: OpenedGraphRun, { columns }: EdgeIndex) {
  if (columns.relations === null) return [];
  const names = await dataset.relationNames();
  const counts = new Float64Array(names.size);
  for (const relation of columns.relations) counts[relation]++;
  return Array.from(counts, (edges, i) => ({ name: names.nameOf(i), edges })).sort(
    (a, b) => b.edges - a.edges,
  );
}

async function typeCounts({ dataset }: OpenedGraphRun) {
  const types = await dataset.readNodeTypes();
  if (types === null) return [];
  const counts = new Float64Array(dataset.nodeTypes?.length ?? 0);
  for (const type of types) counts[type]++;
  return Array.from(counts, (nodes, i) => ({ name: (dataset.nodeTypes ?? [])[i], nodes }));
}

async function classCounts({ dataset, kind }: OpenedGraphRun) {
  const labels = kind === 'nodes' ? await dataset.readLabels() : null;
  if (labels === null) return [];
  const names = await dataset.classNames();
  const counts = new Float64Array(names.size);
  for (const label of labels) if (label >= 0) counts[label]++;
  return Array.from(counts, (nodes, i) => ({ name: names.nameOf(i), nodes }));
}

async function unlabelled({ dataset, kind }: OpenedGraphRun): Promise<number> {
  const labels = kind === 'nodes' ? await dataset.readLabels() : null;
  return (labels ?? new Int32Array(0)).reduce((count, label) => count + Number(label < 0), 0);
}

async function nodeSplits({ dataset }: OpenedGraphRun): Promise<Record<string, number> | null> {
  if (!dataset.hasNodeSplits) return null;
  const counts: Record<string, number> = {};
  for (const split of edgeSplits) counts[split] = (await dataset.readNodes(split))?.length ?? 0;
  return counts;
}

/** Returns, for each degree, the share of nodes that have at least that many edges. */
export function degreeCurve(name: string, ends: Int32Array, numNodes: number): DegreeCurve {
  const counts = new Int32Array(numNodes);
  for (const node of ends) counts[node]++;
  const sorted = counts.sort();
  const [degrees, shares]: [number[], number[]] = [[], []];
  for (let i = 0; i < sorted.length; i++) {
    if (sorted[i] === 0 || (i > 0 && sorted[i] === sorted[i - 1])) continue;
    degrees.push(sorted[i]);
    shares.push((sorted.length - i) / sorted.length);
  }
  return { name, degrees, shares };
}

function hubs(index: EdgeIndex): number[] {
  return Array.from({ length: index.numNodes }, (_, node) => node)
    .sort((a, b) => index.degree(b) - index.degree(a) || a - b)
    .slice(0, mostHubs)
    .filter((node) => index.degree(node) > 0);
}

/** Counts the parts of the graph between which there is no edge. */
function components({ columns: { src, dst }, numNodes }: EdgeIndex): GraphFacts['components'] {
  const parent = Int32Array.from({ length: numNodes }, (_, node) => node);
  const rootOf = (node: number): number => {
    let root = node;
    while (parent[root] !== root) root = parent[root];
    for (let at = node; at !== root; ) [at, parent[at]] = [parent[at], root];
    return root;
  };
  for (let e = 0; e < src.length; e++) {
    const [a, b] = [rootOf(src[e]), rootOf(dst[e])];
    if (a !== b) parent[Math.max(a, b)] = Math.min(a, b);
  }
  const sizes = new Int32Array(numNodes);
  for (let node = 0; node < numNodes; node++) sizes[rootOf(node)]++;
  return {
    count: sizes.reduce((count, size) => count + Number(size > 0), 0),
    largest: sizes.reduce((most, size) => Math.max(most, size), 0),
    isolated: sizes.reduce((count, size) => count + Number(size === 1), 0),
  };
}

/** Counts edges that occur before with the same ends and relation, in any split. */
export function duplicates({ columns: { src, dst, relations }, numNodes }: EdgeIndex): number {
  const kinds = relations === null ? 1 : relations.reduce((most, kind) => Math.max(most, kind), 0) + 1;
  return countRepeats(sortedAtNodes(src, numNodes, (e) => dst[e] * kinds + (relations?.[e] ?? 0)));
}

function unseenNodes({ columns: { src, dst, splits }, numNodes }: EdgeIndex): number {
  if (splits === null) return 0;
  const trained = new Uint8Array(numNodes);
  for (let e = 0; e < src.length; e++) if (splits[e] === 0) trained[src[e]] = trained[dst[e]] = 1;
  const unseen = new Uint8Array(numNodes);
  for (let e = 0; e < src.length; e++)
    for (const node of splits[e] === 0 ? [] : [src[e], dst[e]]) if (trained[node] === 0) unseen[node] = 1;
  return unseen.reduce((count, isUnseen) => count + isUnseen, 0);
}

/** Returns sentences about what is unusual. */
export function notes(facts: Omit<GraphFacts, 'notes'>): string[] {
  const {
    nodes,
    edges,
    components: parts,
    duplicates: twice,
    unseen,
    hubs: most,
    relations,
    classes,
    columns,
  } = facts;
  const isSplit = Object.keys(edges).length > 1;
  const total = Object.values(edges).reduce((sum, count) => sum + count, 0);
  const text = (value: number): string => value.toLocaleString('en');
  const rare = relations.filter(({ edges: count }) => count < 5).length;
  const common = classes.reduce((best, one) => (one.nodes > best.nodes ? one : best), { name: '', nodes: 0 });
  const labelled = classes.reduce((sum, one) => sum + one.nodes, 0);
  return [
    ...(parts.isolated > 0
      ? [`${text(parts.isolated)} nodes have no edge: a model learns nothing about them from the graph.`]
      : []),
    ...(parts.count - parts.isolated > 1
      ? [
          `The graph has ${text(parts.count)} components; the largest has ${text(parts.largest)} of ${text(nodes)} nodes.`,
        ]
      : []),
    ...(twice > 0
      ? [
          `${text(twice)} edges occur more than once (${percent(twice, total)}).${isSplit ? ' A copy of a training edge in the test split makes a result look too good.' : ''}`,
        ]
      : []),
    ...(unseen > 0
      ? [`${text(unseen)} nodes of held-out edges have no training edge: their answers are guesses.`]
      : []),
    ...(most.length > 0 && most[0].edges > total / 10
      ? [`${most[0].name} is an end of ${percent(most[0].edges, total)} of all edges.`]
      : []),
    ...columns
      .filter(({ missing }) => missing > nodes / 20)
      .map(({ name, missing }) => `${percent(missing, nodes)} of the nodes have no ${name}.`),
    ...(rare > 0 ? [`${text(rare)} relations have fewer than 5 edges.`] : []),
    ...classes
      .filter(({ nodes: count }) => classes.length > 1 && count < labelled / 25)
      .map(
        ({ name, nodes: count }) =>
          `The class ${name} has ${text(count)} of ${text(labelled)} labelled nodes: few to learn from, and its accuracy rests on even fewer.`,
      )
      .slice(0, 3),
    ...(labelled > 0 && common.nodes > 0.8 * labelled
      ? [
          `${percent(common.nodes, labelled)} of the labelled nodes are ${common.name}: compare the accuracy with that.`,
        ]
      : []),
  ];
}

const percent = (part: number, whole: number): string =>
  `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
