/** Charts of the data and of what a model made of it: degrees, the map of all rows, the neighbourhood of a node. */
import { type PreparedDataset, readTemporal } from '../../data/index.js';
import {
  type GraphChartEdge,
  type GraphChartNode,
  graphChart,
  lineChart,
  type Panel,
  scatterChart,
} from '../../plot/index.js';
import { GraphPredictor } from '../../predict/graph-predictor.js';
import { edgeIndexOf } from '../../predict/views/edge-index.js';
import { embeddingMap, type MapMethod } from '../../predict/views/embedding-map.js';
import { degreeCurve } from '../../predict/views/graph-facts.js';
import { type NeighborhoodEdge, neighborhood } from '../../predict/views/neighborhood.js';
import type { OpenedGraphRun } from '../../train/index.js';

/** Returns, for each degree, the share of nodes that have at least that many edges. */
function degreeChart(src: Int32Array, dst: Int32Array, numNodes: number): Panel {
  const curves = [degreeCurve('outgoing', src, numNodes), degreeCurve('incoming', dst, numNodes)];
  return lineChart({
    title: `Degrees of ${numNodes.toLocaleString('en')} nodes`,
    ...{ x: 'number of edges', y: 'share of nodes with at least so many', logX: true, logY: true },
    curves: curves.map(({ name, degrees, shares }) => ({ name, x: degrees, y: shares })),
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

/** Draws the rows of nodes as points of the plane, coloured by class, type or main relation. */
export async function mapChart(run: OpenedGraphRun, method: MapMethod): Promise<Panel> {
  const map = await embeddingMap(run, { method, limit: mostPoints });
  const { ids, x, y, groupings, total, explained } = map;
  const [groups] = groupings;
  const names = await run.dataset.nodeNames();
  const every = Math.max(1, Math.floor(ids.length / mostNames));
  const how = explained === null ? 'UMAP' : `${Math.round(100 * explained)} % of the variance`;
  const some =
    ids.length < total ? `, ${ids.length.toLocaleString('en')} of ${total.toLocaleString('en')} nodes` : '';
  return scatterChart({
    title: `Map of nodes (${how}${some})`,
    groups: (groups?.names ?? []).map((name) => (groups.by === 'relation' ? `head of ${name}` : name)),
    points: Array.from(ids, (id, i) => ({
      ...{ x: x[i], y: y[i], name: names.nameOf(id), labelled: i % every === 0 },
      // Without groups all points have the first colour.
      group: groups === undefined ? 0 : groups.group[i] < 0 ? null : groups.group[i],
    })),
  });
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
  const start = predictor.nodeId(options.node);
  const relations = dataset.hasRelations ? await dataset.relationNames() : null;
  const index = await edgeIndexOf(run);
  const found = neighborhood(index, start, { hops: options.hops, limit: mostEdges });
  // Held-out edges are not known to the model, and would be drawn next to what it predicts.
  const around = found.edges.filter(({ split }) => split === 'train');
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

interface AskedTails {
  readonly start: number;
  readonly around: readonly NeighborhoodEdge[];
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
