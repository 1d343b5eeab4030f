/**
 * Explains the class of a node by the edges and features that its score depends on.
 *
 *   mask       learns a mask of edges and one of features that keep the class while little of both is left
 *              (GNNExplainer: Ying et al., NeurIPS 2019)
 *   gradient   the gradient of the class's log probability times the input, in one pass
 *
 * What an explanation is worth is measured by what the model says without the edges that it names, and with them alone.
 */
import { Adam, init, parameter } from '../../nn/index.js';
import {
  add,
  fromTypedArray,
  grad,
  keep,
  log,
  logSoftmax,
  mean,
  mul,
  neg,
  noGrad,
  scope,
  sigmoid,
  slice,
  sub,
  sum,
  type Tensor,
  zeros,
} from '../../tensor/index.js';
import type { NodeClassificationModel, OpenedGraphRun } from '../../train/index.js';
import { initializeBatches } from '../../train/tasks/graph/initialize-model.js';
import type { NodeInputs } from '../../train/tasks/graph/model/encoder.js';
import { gatherText } from '../../train/tasks/graph/model/text-bags.js';
import { checkInteger, StateError } from '../../util/errors.js';
import { Random } from '../../util/philox.js';
import { MaskedLayers, type SampledLayers, takeLayers } from './fixed-layers.js';

export type NodeMethod = 'mask' | 'gradient';

export interface ExplainNodeOptions {
  readonly method: NodeMethod;
  /** The class to explain. Default: that which the model predicts. */
  readonly classId?: number | undefined;
  /** Edges that count as the explanation when its fidelity is measured. */
  readonly edges: number;
  /** Steps in which masks are learned. */
  readonly steps: number;
  readonly seed: number;
}

export interface ExplainedNode {
  readonly classId: number;
  readonly probability: number;
  /** Edges of the training graph, by their numbers, with their weights, largest first. */
  readonly edges: readonly { readonly edge: number; readonly weight: number }[];
  /** Columns of the features, with their weights, largest first. */
  readonly features: readonly { readonly column: number; readonly weight: number }[];
  readonly fidelity: Fidelity;
}

export interface Fidelity {
  /** Probability that is lost when the edges of the explanation are taken out: large if they matter. */
  readonly plus: number;
  /** Probability that is lost when only they are left: near 0 if they suffice. */
  readonly minus: number;
  /** Share of the edges that the explanation leaves out. */
  readonly sparsity: number;
}

/** Strengths of the terms that make masks small and decided, those of the authors' code. */
const [edgeSize, edgeEntropy, featureSize, featureEntropy] = [0.005, 1, 1, 0.1];
const learningRate = 0.01;

export async function explainNode(
  run: OpenedGraphRun,
  node: number,
  options: ExplainNodeOptions,
): Promise<ExplainedNode> {
  checkInteger('explain', 'edges', options.edges, 1);
  checkInteger('explain', 'steps', options.steps, 1, 10_000);
  const question = await readQuestion(run, node);
  const all = new Float32Array(question.sampled.edgeIds.length).fill(1);
  const probabilities = probabilitiesOf(question, all);
  const classId = options.classId ?? probabilities.indexOf(Math.max(...probabilities));
  const found =
    options.method === 'mask' ? learnMasks(question, classId, options) : gradients(question, classId);
  const { edgeIds } = question.sampled;
  const edges = Array.from(edgeIds, (edge, i) => ({ edge, weight: found.edges[i] })).sort(
    (a, b) => b.weight - a.weight || a.edge - b.edge,
  );
  const features = Array.from(found.features, (weight, column) => ({ column, weight })).sort(
    (a, b) => b.weight - a.weight || a.column - b.column,
  );
  const named = new Set(edges.slice(0, options.edges).map(({ edge }) => edge));
  const without = Float32Array.from(edgeIds, (edge) => (named.has(edge) ? 0 : 1));
  const alone = Float32Array.from(edgeIds, (edge) => (named.has(edge) ? 1 : 0));
  const probability = probabilities[classId];
  return {
    ...{ classId, probability, edges, features },
    fidelity: {
      plus: probability - probabilitiesOf(question, without)[classId],
      minus: probability - probabilitiesOf(question, alone)[classId],
      sparsity: edgeIds.length === 0 ? 0 : 1 - named.size / edgeIds.length,
    },
  };
}

/** What the model is asked: its encoder, the neighbourhood of the node, and the rows of its nodes. */
interface NodeQuestion {
  readonly model: NodeClassificationModel;
  readonly sampled: SampledLayers;
  readonly inputs: NodeInputs;
  readonly numFeatures: number;
}

async function readQuestion(run: OpenedGraphRun, node: number): Promise<NodeQuestion> {
  const { config, storage } = run;
  const model = run.model as NodeClassificationModel;
  const source = initializeBatches(config, storage);
  source.select('test');
  await source.load();
  const { evaluationNeighbors: sampler } = source;
  if (sampler === null)
    throw new StateError(
      'explain: expected a model with graph layers, got one that looks at each node alone. Its features are all there is to explain.',
    );
  const sampled = takeLayers(await sampler.sampleAsync(Int32Array.of(node), { step: 0 }));
  const { nodeIds } = sampled;
  const read = async (table: typeof storage.features): Promise<Tensor | null> =>
    table === null ? null : fromTypedArray(await table.gather(nodeIds), [nodeIds.length, table.width]);
  const features = await read(storage.features);
  const inputs = {
    embeddings: await read(storage.embeddings as typeof storage.features),
    features,
    text: storage.text === null ? null : gatherText(storage.text, nodeIds),
    ids: nodeIds,
  };
  return { model, sampled, inputs, numFeatures: features?.shape[1] ?? 0 };
}

/** Runs the model with masks; returns the log probabilities of the classes, [1, classes]. */
function forward({ model, sampled, inputs }: NodeQuestion, edges: Tensor, features: Tensor | null): Tensor {
  const masked =
    features === null || inputs.features === null
      ? inputs
      : { ...inputs, features: mul(inputs.features, features) };
  return logSoftmax(model.encoder.forward(masked, new MaskedLayers(sampled, edges), false), 1);
}

function probabilitiesOf(question: NodeQuestion, mask: Float32Array): number[] {
  return noGrad(() =>
    scope(() => {
      const logs = forward(question, fromTypedArray(mask, [mask.length, 1]), null);
      return Array.from(logs.dataSync() as Float32Array, Math.exp);
    }),
  );
}

interface Weights {
  readonly edges: Float32Array;
  readonly features: Float32Array;
}

/** Sums the gradient times the input: of an edge, whose input is 1, and of a column over the rows. */
function gradients(question: NodeQuestion, classId: number): Weights {
  const { numFeatures, sampled } = question;
  return scope(() => {
    const edges = fromTypedArray(new Float32Array(sampled.edgeIds.length).fill(1), [
      sampled.edgeIds.length,
      1,
    ]);
    const features = fromTypedArray(new Float32Array(numFeatures).fill(1), [1, numFeatures]);
    edges.setRequiresGrad();
    features.setRequiresGrad(numFeatures > 0);
    const logs = forward(question, edges, numFeatures > 0 ? features : null);
    const wanted = sum(slice(logs, classId, classId + 1, 1));
    const found = grad(wanted, numFeatures > 0 ? [edges, features] : [edges]);
    const valuesOf = (tensor: Tensor | null | undefined, count: number): Float32Array =>
      tensor == null ? new Float32Array(count) : (tensor.contiguous().dataSync().slice() as Float32Array);
    return { edges: valuesOf(found[0], sampled.edgeIds.length), features: valuesOf(found[1], numFeatures) };
  });
}

function learnMasks(question: NodeQuestion, classId: number, { steps, seed }: ExplainNodeOptions): Weights {
  const { numFeatures, sampled } = question;
  const random = new Random(seed);
  const numEdges = sampled.edgeIds.length;
  const edges = startMask(
    [numEdges, 1],
    Math.SQRT2 * Math.sqrt(1 / Math.max(1, sampled.nodeIds.length)),
    random,
  );
  const features = startMask([1, numFeatures], 0.1, random);
  const masks = [...(numEdges > 0 ? [edges] : []), ...(numFeatures > 0 ? [features] : [])];
  const optimizer = new Adam(masks, { lr: learningRate });
  for (let step = 0; step < steps && masks.length > 0; step++)
    scope(() => {
      const [edgeMask, featureMask] = [sigmoid(edges), sigmoid(features)];
      const logs = forward(question, edgeMask, numFeatures > 0 ? featureMask : null);
      let loss = neg(sum(slice(logs, classId, classId + 1, 1)));
      if (numEdges > 0)
        loss = add(loss, add(mul(sum(edgeMask), edgeSize), mul(entropy(edgeMask), edgeEntropy)));
      if (numFeatures > 0)
        loss = add(loss, add(mul(mean(featureMask), featureSize), mul(entropy(featureMask), featureEntropy)));
      const found = grad(loss, masks);
      for (const [i, mask] of masks.entries()) mask.grad = keep(found[i] as Tensor);
      optimizer.step();
      optimizer.zeroGrad();
    });
  const weights = (mask: Tensor, count: number): Float32Array =>
    count === 0 ? new Float32Array(0) : scope(() => sigmoid(mask).dataSync().slice() as Float32Array);
  return { edges: weights(edges, numEdges), features: weights(features, numFeatures) };
}

/** Masks start near a half, at random, so that equal edges can part. */
function startMask(shape: readonly [number, number], deviation: number, random: Random): Tensor {
  return parameter(init.normal(zeros(shape), { std: deviation, random }));
}

/** The mean entropy of factors: it is least where each is 0 or 1. */
function entropy(mask: Tensor): Tensor {
  const rest = sub(1, mask);
  const tiny = 1e-15;
  return neg(mean(add(mul(mask, log(add(mask, tiny))), mul(rest, log(add(rest, tiny))))));
}
