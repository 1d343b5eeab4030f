/** Why a model answers as it does, by names. */
import type { NameTable } from '../../data/prepare/name-table.js';
import type { OpenedGraphRun } from '../../train/index.js';
import { type EdgeIndex, edgeIndexOf } from '../views/edge-index.js';
import { explainNode, type Fidelity, type NodeMethod } from './explain-node.js';
import { influentialFacts } from './influential-facts.js';
import { type AskedEdge, supportingPaths } from './paths.js';

/** A known edge by names. */
export interface NamedEdge {
  readonly head: string;
  readonly tail: string;
  readonly relation?: string;
}

export interface WeightedEdge extends NamedEdge {
  readonly weight: number;
}

export interface WeightedFeature {
  readonly name: string;
  readonly weight: number;
}

/** Why a node has its class. */
export interface NodeExplanation {
  readonly node: string;
  readonly class: string;
  readonly probability: number;
  /** Edges that the class depends on, the most important first. */
  readonly edges: readonly WeightedEdge[];
  readonly features: readonly WeightedFeature[];
  /** What the first edges are worth, as many as were asked for. */
  readonly fidelity: Fidelity;
}

/** A chain of known edges from the head to the tail. */
export interface NamedPath {
  readonly edges: readonly NamedEdge[];
  /** Pairs connected by such a path that have the relation, and all of them, of those that were counted. */
  readonly support: number;
  readonly pairs: number;
  readonly confidence: number;
}

/** Why an edge has its score. */
export interface LinkExplanation extends NamedEdge {
  readonly score: number;
  readonly probability?: number;
  /** Known edges at its ends whose training raised the score most. */
  readonly facts: readonly WeightedEdge[];
  /** Paths of known edges between its ends, those that can be trusted most first. */
  readonly paths: readonly NamedPath[];
}

export interface ExplainOptions {
  /** Maximum number of edges, features, facts and paths (default 10). */
  readonly k?: number;
  /** For nodes: learn masks (default), or take one gradient, which is faster and coarser. */
  readonly method?: NodeMethod;
  /** For nodes: the class to explain. Default: that which the model predicts. */
  readonly class?: string;
  /** For nodes: steps in which masks are learned (default 200). */
  readonly steps?: number;
  /** For links: the most edges of a path (default 2). */
  readonly length?: number;
  readonly seed?: number;
}

interface GraphNames {
  readonly nodes: NameTable;
  readonly relations: NameTable | null;
  readonly classes: readonly string[];
}

export async function explainNodeByName(
  run: OpenedGraphRun,
  node: number,
  names: GraphNames,
  { k = 10, method = 'mask', steps = 200, seed = 1, class: wanted }: ExplainOptions,
): Promise<NodeExplanation> {
  const classId = wanted === undefined ? undefined : names.classes.indexOf(wanted);
  const found = await explainNode(run, node, { method, classId, edges: k, steps, seed });
  const index = await edgeIndexOf(run);
  const columns = await featureNames(run);
  return {
    node: names.nodes.nameOf(node),
    class: names.classes[found.classId] ?? String(found.classId),
    probability: found.probability,
    edges: found.edges.slice(0, k).map(({ edge, weight }) => ({ ...namedEdge(index, names, edge), weight })),
    features: found.features
      .slice(0, k)
      .map(({ column, weight }) => ({ name: columns[column] ?? `feature ${column}`, weight })),
    fidelity: found.fidelity,
  };
}

export async function explainLinkByName(
  run: OpenedGraphRun,
  asked: AskedEdge,
  names: GraphNames,
  { k = 10, length = 2 }: ExplainOptions,
): Promise<Pick<LinkExplanation, 'facts' | 'paths'>> {
  const index = await edgeIndexOf(run);
  const facts = await influentialFacts(run, asked, k);
  const paths = supportingPaths(index, asked, { length, limit: k });
  return {
    facts: facts.map(({ edge, weight }) => ({ ...namedEdge(index, names, edge), weight })),
    paths: paths.map(({ steps, support, pairs, confidence }) => ({
      edges: steps.map(({ edge }) => namedEdge(index, names, edge)),
      ...{ support, pairs, confidence },
    })),
  };
}

function namedEdge({ columns }: EdgeIndex, { nodes, relations }: GraphNames, edge: number): NamedEdge {
  const relation = columns.relations?.[edge];
  return {
    head: nodes.nameOf(columns.src[edge]),
    ...(relation === undefined || relations === null ? {} : { relation: relations.nameOf(relation) }),
    tail: nodes.nameOf(columns.dst[edge]),
  };
}

/** Returns a name for each column of the features; none if the dataset does not say. */
async function featureNames({ dataset }: OpenedGraphRun): Promise<string[]> {
  const encoding = await dataset.nodeEncoding();
  return (encoding?.columns ?? []).flatMap((column) => [
    ...(column.kind === 'category'
      ? column.values.map((value) => `${column.name} = ${value}`)
      : [column.name]),
    ...(column.missing ? [`${column.name} is missing`] : []),
  ]);
}
