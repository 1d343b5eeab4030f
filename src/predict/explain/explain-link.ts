/** The training facts that the score of an edge depends on, and how much it does. */
import {
  concat,
  fromTypedArray,
  gatherRows,
  logSoftmax,
  reshape,
  slice,
  type Tensor,
} from '../../tensor/index.js';
import type { LinkPredictionModel, OpenedGraphRun } from '../../train/index.js';
import { Random } from '../../util/philox.js';
import { scorePairs } from '../search/score-pairs.js';
import { type NodeRows, rowsOf } from '../top-nodes.js';
import { edgeIndexOf } from '../views/edge-index.js';
import type { Fidelity, LinkExplanation, Sanity } from './explanation.js';
import { influentialFacts, scoredBy } from './influential-facts.js';
import { maskedReasons, type WeightedId } from './masked-reasons.js';
import type { MaskedAnswer } from './masks.js';
import { encodeMasked, type NeighborhoodInputs, neighborhoodInputs } from './neighborhood-inputs.js';
import { knownEnds, otherNodes } from './other-nodes.js';
import type { AskedEdge } from './paths.js';
import { randomlyEncoded, randomModel, randomRows, withRandomRows } from './random-model.js';
import { compareWeights } from './rank-correlation.js';
import { EndRefit } from './refit-ends.js';
import type { ExplainSettings } from './settings.js';

export interface LinkReasons {
  readonly method: LinkExplanation['method'];
  /** Training edges by their numbers, those of the largest weight first. */
  readonly facts: readonly WeightedId[];
  /** Ends and relation of a training edge. */
  edge(id: number): AskedEdge;
  readonly fidelity: Fidelity;
  readonly sanity?: Sanity;
}

/** @param name names the edge in messages. */
export async function explainLink(
  run: OpenedGraphRun,
  asked: AskedEdge,
  name: string,
  settings: ExplainSettings,
): Promise<LinkReasons> {
  const nodes = Int32Array.of(asked.src, asked.dst);
  const { layers } = run.config.model.encoder;
  const followsEdges = layers.some((stage) => stage.some(({ type }) => type === 'GNN'));
  if (!followsEdges) return byInfluence(run, asked, settings);
  const given = await neighborhoodInputs(run, nodes, { maxEdges: settings.maxEdges, name });
  return byMasks(run, asked, given, settings);
}

async function byInfluence(
  run: OpenedGraphRun,
  asked: AskedEdge,
  settings: ExplainSettings,
): Promise<LinkReasons> {
  const { k, seed, pace, randomize } = settings;
  const facts = await influentialFacts(run, asked, pace);
  const { columns } = await edgeIndexOf(run);
  const { src, dst, relations } = columns;
  const refit = await EndRefit.make(run, asked, { seed, pace });
  const ids = facts.map(({ id }) => id);
  const whole = await refit.score(ids);
  const named = ids.slice(0, k);
  const fidelity: Fidelity = {
    unit: 'score',
    plus: whole - (await refit.score(ids.slice(k))),
    minus: whole - (await refit.score(named)),
    sparsity: ids.length === 0 ? 0 : 1 - named.length / ids.length,
  };
  const found = {
    ...{ method: 'influence' as const, facts, fidelity },
    edge: (id: number) => ({ src: src[id], dst: dst[id], relation: relations?.[id] ?? null }),
  };
  if (!randomize) return found;
  const { decoder } = randomModel(run, seed) as LinkPredictionModel;
  const rows = randomRows(await scoredBy(run).rows(Int32Array.of(asked.src, asked.dst)), seed);
  const others = await influentialFacts(run, asked, pace, { decoder, rows });
  const weightOf = new Map(others.map(({ id, weight }) => [id, weight]));
  const sanity = compareWeights(
    facts.map(({ weight }) => weight),
    facts.map(({ id }) => weightOf.get(id) as number),
  );
  return { ...found, sanity };
}

/** Candidates that the tail is compared with, as in training; fewer in a small graph. */
const numCandidates = 64;
/** Separates these draws from others of the same seed. */
const stream = 0x6c696e6b;

async function byMasks(
  run: OpenedGraphRun,
  asked: AskedEdge,
  given: NeighborhoodInputs,
  settings: ExplainSettings,
): Promise<LinkReasons> {
  const ids = await otherTails(run, asked, settings);
  const answer = answerOf(run.model as LinkPredictionModel, given, asked, await rowsOf(run, ids));
  const random = () => randomAnswer(run, asked, given, ids, settings);
  const found = await maskedReasons(answer, given.edgeIds, 'score', settings, random);
  const { edges, fidelity, sanity } = found;
  const { graph, relations } = run.storage.graph;
  const { src, dst } = graph.edges();
  return {
    ...{ method: settings.method, facts: edges, fidelity },
    ...(sanity === undefined ? {} : { sanity }),
    edge: (id) => ({ src: src[id], dst: dst[id], relation: relations?.[id] ?? null }),
  };
}

/** Returns random nodes that are neither an end of the edge nor a tail that its head is known to have. */
async function otherTails(
  run: OpenedGraphRun,
  { src, dst, relation }: AskedEdge,
  { seed, pace }: ExplainSettings,
): Promise<Int32Array> {
  const known = await knownEnds(await edgeIndexOf(run), src, 'head', pace);
  const excluded = new Set([src, dst, ...(known.get(relation ?? 0) ?? [])]);
  return otherNodes(new Random(seed, stream), numCandidates, run.storage.numNodes, excluded);
}

/** Returns the answer of a model with random parameters, which encodes the candidates too. */
export async function randomAnswer(
  run: OpenedGraphRun,
  asked: AskedEdge,
  given: NeighborhoodInputs,
  candidates: Int32Array,
  settings: Pick<ExplainSettings, 'seed' | 'pace'>,
): Promise<MaskedAnswer> {
  const model = randomModel(run, settings.seed) as LinkPredictionModel;
  const rows = await randomlyEncoded(run, model, candidates, given, settings);
  return answerOf(model, withRandomRows(given, settings.seed), asked, rows);
}

/** The probability of the tail among candidates, whose rows do not depend on the masks. */
function answerOf(
  model: LinkPredictionModel,
  given: NeighborhoodInputs,
  { relation }: AskedEdge,
  { rows: others, width }: NodeRows,
): MaskedAnswer {
  // A graph may be too small for any candidates.
  const candidates = others.length === 0 ? [] : [fromTypedArray(others, [others.length / width, width])];
  const { decoder } = model;
  const { sampled, edgeIds, numFeatures } = given;
  const relationsOf = (count: number) => (relation === null ? null : new Int32Array(count).fill(relation));
  const ends = (edges: Tensor, features: Tensor | null): readonly [Tensor, Tensor] => {
    const rows = encodeMasked(model, given, edges, features);
    const [head, tail] = sampled?.targetRows ?? [0, 1];
    return [gatherRows(rows, Int32Array.of(head)), gatherRows(rows, Int32Array.of(tail))];
  };
  const scores = (head: Tensor, tails: Tensor): Tensor => {
    const count = tails.shape[0];
    const src = count === 1 ? head : gatherRows(head, new Int32Array(count));
    const relations = relationsOf(count);
    return reshape(scorePairs(decoder, { src, dst: tails, relations, rows: tails }), [1, count]);
  };
  return {
    numEdges: edgeIds.length,
    numFeatures,
    numNodes: sampled?.nodeIds.length ?? 2,
    uses: sampled?.uses ?? new Int32Array(0),
    logProbability(edges, features) {
      const [head, tail] = ends(edges, features);
      return slice(logSoftmax(scores(head, concat([tail, ...candidates], 0)), 1), 0, 1, 1);
    },
    measure: (edges) => scores(...ends(edges, null)),
  };
}
