/** Reasons of link and node models by the names of the graph. */
import type { NameTable } from '../../data/prepare/name-table.js';
import type { OpenedGraphRun } from '../../train/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { nearestNames } from '../../util/nearest.js';
import { edgeIndexOf } from '../views/edge-index.js';
import { explainLink } from './explain-link.js';
import { explainNode } from './explain-node.js';
import type { LinkExplanation, NamedEdge, NodeExplanation, WeightedEdge } from './explanation.js';
import type { WeightedId } from './masked-reasons.js';
import { type AskedEdge, supportingPaths } from './paths.js';
import type { ExplainSettings } from './settings.js';
import { wordContributions } from './words.js';

interface GraphNames {
  readonly nodes: NameTable;
  readonly relations: NameTable | null;
  readonly classes: readonly string[];
}

export async function explainNodeByName(
  run: OpenedGraphRun,
  id: number,
  names: GraphNames,
  settings: ExplainSettings,
): Promise<NodeExplanation> {
  const { k, method } = settings;
  const name = names.nodes.nameOf(id);
  const classId = settings.class === undefined ? null : classOf(settings.class, names.classes);
  const found = await explainNode(run, { id, name }, classId, settings);
  const edges = found.edges.slice(0, k);
  const columns = await featureNames(run);
  return {
    kind: 'node',
    node: name,
    class: names.classes[found.classId] ?? String(found.classId),
    probability: found.probability,
    method,
    edges: namedEdges(run, edges, names),
    features: found.features
      .slice(0, k)
      .map(({ id: column, weight }) => ({ name: columns[column] ?? `feature ${column}`, weight })),
    fidelity: found.fidelity,
    ...(found.sanity === undefined ? {} : { sanity: found.sanity }),
  };
}

function classOf(name: string, classes: readonly string[]): number {
  const id = classes.indexOf(name);
  if (id >= 0) return id;
  const near = nearestNames(name, classes);
  const advice =
    near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Classes are ${classes.slice(0, 8).join(', ')}.`;
  throw new ValueError(expected('explain', 'a class of the model', 'class', name, advice));
}

/** @param answer the score of the edge as `score` returns it, and its probability if the model is calibrated */
export async function explainLinkByName(
  run: OpenedGraphRun,
  asked: AskedEdge,
  answer: Pick<LinkExplanation, 'score' | 'probability'>,
  names: GraphNames,
  settings: ExplainSettings,
): Promise<LinkExplanation> {
  const { k, length, pace } = settings;
  const named = namedEdge(asked, names);
  const { method, facts, edge, fidelity, sanity } = await explainLink(
    run,
    asked,
    `${named.head} and ${named.tail}`,
    settings,
  );
  const index = await edgeIndexOf(run);
  const { src, dst, relations } = index.columns;
  const paths = await supportingPaths(index, asked, { length, limit: k, pace });
  const words = await wordContributions(run, {
    node: asked.src,
    relation: asked.relation,
    answer: asked.dst,
  });
  const nameOf = (id: number): NamedEdge =>
    namedEdge({ src: src[id], dst: dst[id], relation: relations?.[id] ?? null }, names);
  return {
    kind: 'link',
    ...named,
    ...answer,
    method,
    facts: facts.slice(0, k).map(({ id, weight }) => ({ ...namedEdge(edge(id), names), weight })),
    paths: paths.map(({ steps, support, pairs, confidence }) => ({
      edges: steps.map((step) => nameOf(step.edge)),
      ...{ support, pairs, confidence },
    })),
    ...(words === null
      ? {}
      : { words: words.slice(0, k).map(({ word, column, value }) => ({ word, column, weight: value })) }),
    fidelity,
    ...(sanity === undefined ? {} : { sanity }),
  };
}

/** Names edges of the graph that samplers follow, which is loaded if there are any. */
function namedEdges(
  { storage }: OpenedGraphRun,
  edges: readonly WeightedId[],
  names: GraphNames,
): WeightedEdge[] {
  if (edges.length === 0) return [];
  const { graph, relations } = storage.graph;
  const { src, dst } = graph.edges();
  return edges.map(({ id, weight }) => {
    const edge = { src: src[id], dst: dst[id], relation: relations?.[id] ?? null };
    return { ...namedEdge(edge, names), weight };
  });
}

function namedEdge({ src, dst, relation }: AskedEdge, { nodes, relations }: GraphNames): NamedEdge {
  return {
    head: nodes.nameOf(src),
    ...(relation === null || relations === null ? {} : { relation: relations.nameOf(relation) }),
    tail: nodes.nameOf(dst),
  };
}

/** Returns a name for each column of the features; none if the dataset has no table of nodes. */
async function featureNames({ dataset }: OpenedGraphRun): Promise<string[]> {
  const encoding = await dataset.nodeEncoding();
  return (encoding?.columns ?? []).flatMap((column) => [
    ...(column.kind === 'category'
      ? column.values.map((value) => `${column.name} = ${value}`)
      : [column.name]),
    ...(column.missing ? [`${column.name} is missing`] : []),
  ]);
}
