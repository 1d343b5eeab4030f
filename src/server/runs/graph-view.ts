/** Views of a predictor's graph by names, as a page draws them. */
import { EventPredictor } from '../../predict/event-predictor.js';
import { GraphPredictor } from '../../predict/graph-predictor.js';
import type { Predictor } from '../../predict/index.js';
import { completeNames } from '../../predict/views/complete-names.js';
import { type EdgeIndex, edgeIndexOf, edgeSplits, eventIndexOf } from '../../predict/views/edge-index.js';
import { type EmbeddingMapOptions, embeddingMap } from '../../predict/views/embedding-map.js';
import { eventFacts } from '../../predict/views/event-facts.js';
import { graphFacts } from '../../predict/views/graph-facts.js';
import {
  type Neighborhood,
  type NeighborhoodOptions,
  neighborhood,
} from '../../predict/views/neighborhood.js';
import type { OpenedGraphRun } from '../../train/index.js';
import { compareNaturally } from '../../util/natural-order.js';
import { HttpError } from '../http-error.js';

export interface GraphView {
  /** Names of nodes or relations that begin with a text, then those that contain it. */
  complete(of: 'nodes' | 'relations', text: string, limit: number): Promise<string[]>;
  neighborhood(node: string, options: NeighborhoodOptions): Promise<NamedNeighborhood>;
  map(options: EmbeddingMapOptions): Promise<NamedMap>;
  facts(): Promise<object>;
  /** The class of a node and the split that it is in. */
  truth(node: string): Promise<NodeTruth>;
  /** The latest events of a stream, the last one first. */
  recent(limit: number): readonly RecentEvent[];
}

/** The class of a node in the data; null if it has none. */
export interface NodeTruth {
  readonly class: string | null;
  readonly split: string | null;
}

export interface RecentEvent {
  readonly head: string;
  readonly tail: string;
  readonly time: number;
}

export interface NamedNeighborhood {
  readonly node: string;
  readonly nodes: readonly {
    readonly name: string;
    readonly distance: number;
    readonly degree: number;
    /** The class of the data, or else the type; null without either. */
    readonly group: string | null;
  }[];
  readonly edges: readonly {
    /** Positions in `nodes`. */
    readonly from: number;
    readonly to: number;
    readonly relation: string | null;
    readonly split: string;
    readonly time: number | null;
  }[];
  /** All classes or types, by name. */
  readonly groups: readonly string[];
  /** Edges of these nodes that are not shown. */
  readonly hidden: number;
}

export interface NamedMap {
  readonly method: string;
  readonly names: readonly string[];
  /** Little-endian numbers as base64: x and y are float32, degree is int32, and group int8. */
  readonly x: string;
  readonly y: string;
  readonly degree: string;
  readonly groupings: readonly NamedGroups[];
  readonly total: number;
  readonly explained: number | null;
}

/** A way to colour the points of a map. */
export interface NamedGroups {
  readonly by: 'class' | 'type' | 'relation' | 'tail';
  readonly relation: string | null;
  readonly names: readonly string[];
  readonly group: string;
}

export function graphView(predictor: Predictor): GraphView {
  if (predictor instanceof GraphPredictor) return viewOfGraph(predictor);
  if (predictor instanceof EventPredictor) return viewOfEvents(predictor);
  throw new HttpError(
    409,
    'unsupported',
    `expected a model of a graph or of events, got one of ${predictor.kind}.`,
  );
}

function viewOfGraph(predictor: GraphPredictor): GraphView {
  const { run } = predictor;
  const { dataset } = run;
  return {
    async complete(of, text, limit) {
      if (of === 'relations')
        return dataset.hasRelations ? completeNames(await dataset.relationNames(), text, limit) : [];
      return completeNames(await dataset.nodeNames(), text, limit);
    },
    async neighborhood(node, options) {
      const names = await dataset.nodeNames();
      const relations = dataset.hasRelations ? await dataset.relationNames() : null;
      const id = predictor.nodeId(node);
      const index = await edgeIndexOf(run);
      return named(neighborhood(index, id, options), {
        ...{ node: names.nameOf(id), index },
        nameOf: (one) => names.nameOf(one),
        relationOf: (relation) => relations?.nameOf(relation) ?? null,
        ...(await groupsOf(run)),
      });
    },
    async map(options) {
      const names = await dataset.nodeNames();
      const { ids, x, y, degree, groupings, ...rest } = await embeddingMap(run, options);
      return {
        ...rest,
        names: Array.from(ids, (id) => names.nameOf(id)),
        ...{ x: base64(x), y: base64(y), degree: base64(degree) },
        groupings: groupings.map((one) => ({ ...one, group: base64(one.group) })),
      };
    },
    facts: async () => ({ kind: predictor.kind, ...(await graphFacts(run)) }),
    truth: (node) => truthOf(predictor, node),
    recent: () => {
      throw new HttpError(
        409,
        'unsupported',
        `recent: expected a model of events, got one of ${predictor.kind}.`,
      );
    },
  };
}

function viewOfEvents(predictor: EventPredictor): GraphView {
  const { nodes } = predictor.run.stream.data;
  return {
    complete: async (of, text, limit) => (of === 'relations' ? [] : completeNames(nodes, text, limit)),
    async neighborhood(node, options) {
      const id = nodes.idOf(node, 'src') ?? nodes.idOf(node, 'dst');
      if (id === undefined)
        throw new HttpError(
          400,
          'unknown_name',
          `node: expected a node of the stream, got ${JSON.stringify(node.slice(0, 100))}.`,
          {
            suggestions: completeNames(nodes, node.slice(0, 3), 5),
          },
        );
      const index = eventIndexOf(predictor.scorer.graph, nodes.size);
      return named(neighborhood(index, id, options), {
        ...{ node: nodes.nameOf(id), index },
        nameOf: (one) => nodes.nameOf(one),
        relationOf: () => null,
        ...{ groups: [], groupOf: () => null },
      });
    },
    map: () => {
      throw new HttpError(
        409,
        'unsupported',
        'map: expected a model with rows of nodes, got one of events, whose rows change with time.',
      );
    },
    facts: async () => ({ kind: 'events', ...eventFacts(predictor.scorer.graph, nodes) }),
    truth: async () => ({ class: null, split: null }),
    recent(limit) {
      const { src, dst, time } = predictor.scorer.graph;
      const count = Math.min(limit, src.length);
      return Array.from({ length: count }, (_, i) => src.length - 1 - i).map((e) => ({
        ...{ head: nodes.nameOf(src[e]), tail: nodes.nameOf(dst[e]), time: time[e] },
      }));
    },
  };
}

interface Names {
  readonly node: string;
  readonly index: EdgeIndex;
  nameOf(node: number): string;
  relationOf(relation: number): string | null;
  readonly groups: readonly string[];
  groupOf(node: number): string | null;
}

/** Returns the class of a node in a run that classifies nodes, and the type in others. */
async function groupsOf({
  dataset,
  kind,
  storage,
}: OpenedGraphRun): Promise<Pick<Names, 'groups' | 'groupOf'>> {
  const { labels, nodeTypes } = storage;
  if (kind === 'nodes' && labels !== null) {
    const classes = await dataset.classNames();
    const names = Array.from({ length: classes.size }, (_, i) => classes.nameOf(i));
    return {
      groups: names.sort(compareNaturally),
      groupOf: (node) => (labels[node] < 0 ? null : classes.nameOf(labels[node])),
    };
  }
  const types = nodeTypes === null ? [] : (dataset.nodeTypes ?? []);
  return {
    groups: [...types].sort(compareNaturally),
    groupOf: (node) => types[nodeTypes?.[node] ?? 0] ?? null,
  };
}

async function truthOf(predictor: GraphPredictor, node: string): Promise<NodeTruth> {
  const { run } = predictor;
  const id = predictor.nodeId(node);
  const group = run.kind === 'nodes' ? (await groupsOf(run)).groupOf(id) : null;
  for (const split of edgeSplits)
    if (run.storage.splitNodes(split)?.includes(id) === true) return { class: group, split };
  return { class: group, split: null };
}

function named(
  { nodes, edges, hidden }: Neighborhood,
  { node, index, nameOf, relationOf, groups, groupOf }: Names,
): NamedNeighborhood {
  const place = new Map([...nodes.keys()].map((id, i) => [id, i]));
  return {
    ...{ node, hidden, groups },
    nodes: [...nodes].map(([id, distance]) => ({
      ...{ name: nameOf(id), distance, degree: index.degree(id), group: groupOf(id) },
    })),
    edges: edges.map(({ src, dst, relation, split, time }) => ({
      from: place.get(src) as number,
      to: place.get(dst) as number,
      relation: relation === null ? null : relationOf(relation),
      ...{ split, time },
    })),
  };
}

const base64 = (values: Float32Array | Int8Array | Int32Array): string =>
  Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64');
