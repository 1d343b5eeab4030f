/**
 * Weights of the edges and features that an answer depends on.
 *
 *   mask       learns a factor per edge and one per feature that keep the answer while little of both is left
 *              (GNNExplainer: Ying et al., NeurIPS 2019)
 *   gradient   the gradient of the answer by each factor, in one pass: gradient times input
 */
import { Adam, init, parameter } from '../../nn/index.js';
import {
  add,
  fromTypedArray,
  grad,
  keep,
  log,
  mean,
  mul,
  neg,
  noGrad,
  scope,
  sigmoid,
  sub,
  sum,
  type Tensor,
  zeros,
} from '../../tensor/index.js';
import { Random } from '../../util/philox.js';
import type { ExplainSettings } from './settings.js';

/** An answer as a function of the masks. */
export interface MaskedAnswer {
  readonly numEdges: number;
  readonly numFeatures: number;
  readonly numNodes: number;
  /** The number of layers that follow each edge: more next to the node in question. */
  readonly uses: Int32Array;
  /** Runs the model; returns the logarithm of the probability of the answer, one element. Null: features as they are. */
  logProbability(edges: Tensor, features: Tensor | null): Tensor;
  /** Runs the model; returns the number that fidelity compares, one element. */
  measure(edges: Tensor): Tensor;
}

export interface MaskWeights {
  readonly edges: Float32Array;
  readonly features: Float32Array;
}

/** Strengths of the terms that make a mask small and decided. */
interface MaskTerms {
  readonly size: number;
  readonly entropy: number;
}

/** Large enough that edges without effect end near 0, small enough that those with an effect end near 1. */
const edgeTerms: MaskTerms = { size: 0.05, entropy: 0.1 };
/** Those of the authors' code; the size is a mean there. */
const featureTerms: MaskTerms = { size: 1, entropy: 0.1 };
const learningRate = 0.1;
/** Random starts whose masks are averaged: one alone may end in a mask that happens to suffice. */
const numStarts = 3;

export function maskWeights(answer: MaskedAnswer, settings: ExplainSettings): Promise<MaskWeights> {
  return settings.method === 'mask' ? learnMasks(answer, settings) : gradients(answer, settings);
}

/** Returns the number that fidelity compares, with a factor for each edge. */
export function measureWith(answer: MaskedAnswer, mask: Float32Array): number {
  return noGrad(() => scope(() => answer.measure(fromTypedArray(mask, [mask.length, 1])).item()));
}

async function gradients(answer: MaskedAnswer, { pace }: ExplainSettings): Promise<MaskWeights> {
  const { numEdges, numFeatures } = answer;
  await pace.step();
  return scope(() => {
    const ofEdges = fromTypedArray(new Float32Array(numEdges).fill(1), [numEdges, 1]).setRequiresGrad();
    const ofFeatures =
      numFeatures === 0
        ? null
        : fromTypedArray(new Float32Array(numFeatures).fill(1), [1, numFeatures]).setRequiresGrad();
    const found = grad(
      sum(answer.logProbability(ofEdges, ofFeatures)),
      ofFeatures === null ? [ofEdges] : [ofEdges, ofFeatures],
    );
    return { edges: numbersOf(found[0], numEdges), features: numbersOf(found[1] ?? null, numFeatures) };
  });
}

function numbersOf(values: Tensor | null, count: number): Float32Array {
  if (values === null) return new Float32Array(count);
  return (values.contiguous().dataSync() as Float32Array).slice();
}

/** Learns the mask of edges with whole features, and that of features with whole edges: together each hides the other. */
async function learnMasks(answer: MaskedAnswer, settings: ExplainSettings): Promise<MaskWeights> {
  const { numEdges, numFeatures, numNodes } = answer;
  const random = new Random(settings.seed);
  const whole = (): Tensor => fromTypedArray(new Float32Array(numEdges).fill(1), [numEdges, 1]);
  const edges = new Float32Array(numEdges);
  for (let start = 0; start < numStarts && numEdges > 0; start++) {
    const mask = startMask([numEdges, 1], 2 / Math.sqrt(2 * numNodes), random);
    const found = await learnMask(mask, settings, (factors) =>
      add(loss(answer.logProbability(factors, null)), terms(factors, sum(factors), edgeTerms)),
    );
    for (const [i, factor] of found.entries()) edges[i] += factor / numStarts;
  }
  if (numFeatures === 0) return { edges, features: new Float32Array(0) };
  const features = await learnMask(startMask([1, numFeatures], 0.1, random), settings, (factors) =>
    add(loss(answer.logProbability(whole(), factors)), terms(factors, mean(factors), featureTerms)),
  );
  return { edges, features };
}

/** Minimises a loss over the factors of a mask, which are between 0 and 1; disposes of the mask. */
async function learnMask(
  mask: Tensor,
  { steps, pace }: ExplainSettings,
  lossOf: (factors: Tensor) => Tensor,
): Promise<Float32Array> {
  const optimizer = new Adam([mask], { lr: learningRate });
  try {
    for (let step = 0; step < steps; step++) {
      await pace.step();
      scope(() => {
        const [found] = grad(lossOf(sigmoid(mask)), [mask]);
        mask.grad = found === null ? null : keep(found);
        optimizer.step();
        mask.grad?.dispose();
        optimizer.zeroGrad();
      });
    }
    return noGrad(() => scope(() => numbersOf(sigmoid(mask), mask.size)));
  } finally {
    mask.dispose();
  }
}

/** Masks start near a half, at random, so that equal edges can part. */
function startMask(shape: readonly [number, number], std: number, random: Random): Tensor {
  return parameter(init.normal(zeros(shape), { std, random }));
}

function loss(logProbability: Tensor): Tensor {
  return neg(sum(logProbability));
}

function terms(factors: Tensor, size: Tensor, strength: MaskTerms): Tensor {
  return add(mul(size, strength.size), mul(entropy(factors), strength.entropy));
}

/** The mean entropy of factors: least where each is 0 or 1. */
function entropy(mask: Tensor): Tensor {
  const rest = sub(1, mask);
  const tiny = 1e-7;
  return neg(mean(add(mul(mask, log(add(mask, tiny))), mul(rest, log(add(rest, tiny))))));
}
