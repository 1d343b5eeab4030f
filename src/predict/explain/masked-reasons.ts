/** The edges and features of a neighbourhood, by weight, and how much the answer depends on them. */
import type { Fidelity, Sanity } from './explanation.js';
import { type MaskedAnswer, maskWeights, measureWith } from './masks.js';
import { compareWeights } from './rank-correlation.js';
import type { ExplainSettings } from './settings.js';

export interface WeightedId {
  readonly id: number;
  readonly weight: number;
}

export interface MaskedReasons {
  /** Numbers of edges in the whole graph, those of the largest weight first. */
  readonly edges: readonly WeightedId[];
  /** Columns of the features, those of the largest weight first. */
  readonly features: readonly WeightedId[];
  readonly fidelity: Fidelity;
  readonly sanity?: Sanity;
}

/** @param random makes the answer of a model with random parameters. */
export async function maskedReasons(
  answer: MaskedAnswer,
  edgeIds: Int32Array,
  unit: Fidelity['unit'],
  settings: ExplainSettings,
  random: () => MaskedAnswer | Promise<MaskedAnswer>,
): Promise<MaskedReasons> {
  const weights = await maskWeights(answer, settings);
  const edges = sorted(weights.edges, edgeIds);
  const named = new Set(edges.slice(0, settings.k).map(({ id }) => id));
  const measure = (factor: (edge: number) => number): number =>
    measureWith(answer, Float32Array.from(edgeIds, factor));
  await settings.pace.step();
  const whole = measure(() => 1);
  const fidelity: Fidelity = {
    unit,
    plus: whole - measure((edge) => (named.has(edge) ? 0 : 1)),
    minus: whole - measure((edge) => (named.has(edge) ? 1 : 0)),
    sparsity: edgeIds.length === 0 ? 0 : 1 - named.size / edgeIds.length,
  };
  const found = { edges, features: sorted(weights.features), fidelity };
  if (!settings.randomize) return found;
  const others = await maskWeights(await random(), settings);
  return { ...found, sanity: compareWeights([...weights.edges], [...others.edges], answer.uses) };
}

function sorted(weights: Float32Array, ids?: Int32Array): WeightedId[] {
  return Array.from(weights, (weight, i) => ({ id: ids === undefined ? i : ids[i], weight })).sort(
    (a, b) => b.weight - a.weight || a.id - b.id,
  );
}
