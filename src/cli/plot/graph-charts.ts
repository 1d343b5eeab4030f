/** Charts of the data and of what a model made of it: degrees, the map of all rows, the neighbourhood of a node. */
import { type PreparedDataset, readTemporal } from '../../data/index.js';
import {
  type GraphChartEdge,
  type GraphChartNode,
  graphChart,
  lineChart,
  type Panel,
  scatterChart,
  seriesOfOthers,
} from '../../plot/index.js';
import { GraphPredictor } from '../../predict/graph-predictor.js';
import { principalPlane } from '../../predict/map/principal-components.js';
import { rowsOf } from '../../predict/top-nodes.js';
import type { OpenedGraphRun } from '../../train/index.js';
import { ValueError } from '../../util/errors.js';

/** Returns, for each degree, the share of nodes that have at least that many edges. */
function degreeChart(src: Int32Array, dst: Int32Array, numNodes: number): Panel {
  const curve = (name: string, ends: Int32Array) => {
    const degrees = new Int32Array(numNodes);
    for (const node of ends) degrees[node]++;
    const sorted = degrees.sort();
    const x: number[] = [];
    const y: number[] = [];
    for (let i = 0; i < sorted.length; i++) {
      if (sorted[i] === 0 || (i > 0 && sorted[i] === sorted[i - 1])) continue;
      x.push(sorted[i]);
      y.push((sorted.length - i) / sorted.length);
    }
    return { name, x, y };
  };
  return lineChart({
    title: `Degrees of ${numNodes.toLocaleString('en')} nodes`,
    ...{ x: 'number of edges', y: 'share of nodes with at least so many', logX: true, logY: true },
    curves: [curve('outgoing', src), curve('incoming', dst)],
  });
}

/** Draws the degrees of all splits of a prepared dataset. */
export async function datasetDegrees(dataset: PreparedDataset): Promise<Panel> {
  const splits = dataset.hasNodeSplits ? (['train'] as const) : (['train', 'validation', 'test'] as const);
  const [src, dst]: [number[], number[]] = [[], []];
  const columns = dataset.numColumns;
  for (const split of splits) {
    const rows = await dataset.readEdges(split);
    for (let i = 0; i < rows.length; i += columns) {
      src.push(rows[i]);
      dst.push(rows[i + columns - 1]);
    }
  }
  return degreeChart(Int32Array.from(src), Int32Array.from(dst), dataset.stats.num_nodes);
}

/** Draws the degrees of an event file. */
export async function eventDegrees(path: string): Promise<Panel> {
  const { events, numNodes } = await readTemporal(path, { sort: true });
  return degreeChart(events.src, events.dst, numNodes);
}

/** Nodes of a map; a picture with more is slow to open and shows no more. */
const mostPoints = 5000;
/** Nodes whose names are written. */
const mostNames = 40;

/** Draws the rows of nodes on the plane that keeps most of their variance, coloured by class, type or main relation. */
export async function embeddingMap(run: OpenedGraphRun): Promise<Panel> {
  const { num_nodes: total } = run.dataset.stats;
  const count = Math.min(total, mostPoints);
  const ids = Int32Array.from({ length: count }, (_, i) => Math.floor((i * total) / count));
  const { rows, width } = await rowsOf(run, ids);
  const { x, y, explained } = principalPlane(rows, width);
  const names = await run.dataset.nodeNames();
  const { groups, groupOf } = await groupsOf(run);
  const every = Math.max(1, Math.floor(count / mostNames));
  const share = Math.round(100 * (explained[0] + explained[1]));
  const some = count < total ? `, ${count.toLocaleString('en')} of ${total.toLocaleString('en')} nodes` : '';
  return scatterChart({
    title: `Map of nodes (${share} % of the variance${some})`,
    groups,
    points: Array.from(ids, (id, i) => {
      const group = groupOf(id);
      return {
        ...{ x: x[i], y: y[i], name: names.nameOf(id), labelled: i % every === 0 },
        group: group !== null && group < seriesOfOthers ? group : null,
      };
    }),
  });
}

interface NodeGroups {
  readonly groups: readonly string[];
  readonly groupOf: (node: number) => number | null;
}

async function groupsOf({ dataset, kind }: OpenedGraphRun): Promise<NodeGroups> {
  const labels = kind === 'nodes' ? await dataset.readLabels() : null;
  if (labels !== null) {
    const classes = await dataset.classNames();
    const groups = Array.from({ length: Math.min(classes.size, seriesOfOthers) }, (_, i) =>
      classes.nameOf(i),
    );
    return { groups, groupOf: (node) => (labels[node] < 0 ? null : labels[node]) };
  }
  const types = await dataset.readNodeTypes();
  if (types !== null) return { groups: [...(dataset.nodeTypes ?? [])], groupOf: (node) => types[node] };
  return dataset.hasRelations ? groupsByRelation(dataset) : { groups: [], groupOf: () => 0 };
}

/** Colours a node by the relation that it is most often the head of. */
async function groupsByRelation(dataset: PreparedDataset): Promise<NodeGroups> {
  const edges = await dataset.readEdges('train');
  const names = await dataset.relationNames();
  const counts = new Map<number, Map<number, number>>();
  const totals = new Map<number, number>();
  for (let i = 0; i < edges.length; i += 3) {
    const own = counts.get(edges[i]) ?? new Map<number, number>();
    counts.set(edges[i], own);
    own.set(edges[i + 1], (own.get(edges[i + 1]) ?? 0) + 1);
    totals.set(edges[i + 1], (totals.get(edges[i + 1]) ?? 0) + 1);
  }
  const main = [...totals]
    .sort((a, b) => b[1] - a[1] || a[0] - b[0])
    .slice(0, seriesOfOthers)
    .map(([relation]) => relation);
  return {
    groups: main.map((relation) => `head of ${names.nameOf(relation)}`),
    groupOf: (node) => {
      const [best] = [...(counts.get(node) ?? [])].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
      const group = best === undefined ? -1 : main.indexOf(best[0]);
      return group < 0 ? null : group;
    },
  };
}

/** Edges of a neighbourhood; more would hide each other. */
const mostEdges = 60;
/** Relations of the node for which tails are predicted. */
const askedRelations = 3;

export interface NeighborhoodOptions {
  readonly node: string;
  readonly hops: number;
  /** Predicted tails for each of the node's main relations. */
  readonly top: number;
}

/** Draws the edges around a node, and what the model adds to them. */
export async function neighborhoodChart(run: OpenedGraphRun, options: NeighborhoodOptions): Promise<Panel> {
  const { dataset } = run;
  const predictor = await GraphPredictor.open(run, { command: 'plot', prefix: '--' });
  const names = await dataset.nodeNames();
  const start = await findNode(predictor, names, options.node);
  const relations = dataset.hasRelations ? await dataset.relationNames() : null;
  const around = collectEdges(await dataset.readEdges('train'), dataset.numColumns, start, options.hops);
  const nodes: GraphChartNode[] = [{ name: names.nameOf(start), distance: 0 }];
  const placeOf = new Map([[start, 0]]);
  const place = (node: number, distance: number): number => {
    const known = placeOf.get(node);
    if (known !== undefined) return known;
    placeOf.set(node, nodes.length);
    return nodes.push({ name: names.nameOf(node), distance }) - 1;
  };
  const relationIds = [...new Set(around.flatMap(({ relation }) => (relation === null ? [] : [relation])))];
  const colourOf = new Map(relationIds.map((relation, i) => [relation, i]));
  const edges = around.map(({ src, dst, relation, distance }): GraphChartEdge => {
    const [from, to] = [place(src, distance), place(dst, distance)];
    return { from, to, relation: relation === null ? null : (colourOf.get(relation) as number) };
  });
  if (run.kind === 'links')
    for (const one of await predictTails(predictor, { start, around, names, relations, top: options.top }))
      edges.push({
        ...one,
        from: 0,
        to: place(one.to, 1),
        relation: one.relation === null ? null : (colourOf.get(one.relation) as number),
      });
  return graphChart({
    title: `Around ${names.nameOf(start)}`,
    ...{ nodes, edges },
    relations: relationIds.map((relation) => relations?.nameOf(relation) ?? ''),
  });
}

interface NamesById {
  readonly size: number;
  nameOf(id: number): string;
  idOf(name: string, side?: 'src' | 'dst'): number | undefined;
}

async function findNode(predictor: GraphPredictor, names: NamesById, node: string): Promise<number> {
  const found = names.idOf(node);
  if (found !== undefined) return found;
  // Throws the error of every question about an unknown name, with similar ones.
  await predictor.embed(node);
  throw new ValueError(`plot: expected a node of the graph for --node, got ${JSON.stringify(node)}.`);
}

interface FoundEdge {
  readonly src: number;
  readonly dst: number;
  readonly relation: number | null;
  readonly distance: number;
}

/** Returns edges around a node, those of nearer nodes first, up to a number that a picture can show. */
function collectEdges(rows: Int32Array, columns: number, start: number, hops: number): FoundEdge[] {
  const reached = new Map([[start, 0]]);
  const found: FoundEdge[] = [];
  const taken = new Set<number>();
  for (let distance = 1; distance <= hops && found.length < mostEdges; distance++) {
    const before = new Set([...reached].filter(([, at]) => at === distance - 1).map(([node]) => node));
    for (let i = 0; i < rows.length && found.length < mostEdges; i += columns) {
      const [src, dst] = [rows[i], rows[i + columns - 1]];
      if (taken.has(i) || (!before.has(src) && !before.has(dst))) continue;
      taken.add(i);
      found.push({ src, dst, relation: columns === 3 ? rows[i + 1] : null, distance });
      for (const node of [src, dst]) if (!reached.has(node)) reached.set(node, distance);
    }
  }
  return found;
}

interface AskedTails {
  readonly start: number;
  readonly around: readonly FoundEdge[];
  readonly names: NamesById;
  readonly relations: NamesById | null;
  readonly top: number;
}

/** Returns the best tails that are not known, for the relations that the node has most edges of. */
async function predictTails(
  predictor: GraphPredictor,
  { start, around, names, relations, top }: AskedTails,
): Promise<
  { readonly to: number; readonly relation: number | null; readonly note: string; readonly predicted: true }[]
> {
  if (top === 0) return [];
  const counts = new Map<number | null, number>();
  for (const { src, relation } of around)
    if (src === start) counts.set(relation, (counts.get(relation) ?? 0) + 1);
  const asked = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, askedRelations)
    .map(([relation]) => relation);
  const answers = await predictor.rank(
    asked.map((relation) => ({
      head: names.nameOf(start),
      ...(relation === null || relations === null ? {} : { relation: relations.nameOf(relation) }),
    })),
    { k: top },
  );
  return answers.flatMap((list, i) =>
    list.flatMap(({ name, score, probability }) => {
      const to = names.idOf(name, 'dst') ?? names.idOf(name);
      const note = `(${probability === undefined ? `score ${score.toFixed(3)}` : `probability ${probability.toFixed(2)}`})`;
      return to === undefined ? [] : [{ to, relation: asked[i], note, predicted: true as const }];
    }),
  );
}
