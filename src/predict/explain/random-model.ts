/** Models with random parameters, whose explanations must differ from those of a trained one (Adebayo et al., NeurIPS 2018). */
import { kernels } from '../../native/index.js';
import { fromTypedArray, gatherRows, noGrad, scope } from '../../tensor/index.js';
import type { LinkPredictionModel, OpenedGraphRun } from '../../train/index.js';
import { initializeModel } from '../../train/tasks/graph/initialize-model.js';
import type { Model } from '../../train/tasks/graph/model/model.js';
import { Random } from '../../util/philox.js';
import type { NodeRows } from '../top-nodes.js';
import { encodeMasked, type NeighborhoodInputs, neighborhoodInputs } from './neighborhood-inputs.js';
import type { Pace } from './pace.js';

/** Separates these draws from those of masks. */
const stream = 0x72616e64;

/** Returns a model of the same form with new initial parameters. */
export function randomModel({ config, storage, dataset }: OpenedGraphRun, seed: number): Model {
  // Another seed than that of training, whatever both are.
  const random_seed = (config.model.random_seed + 1 + seed) % 2 ** 32;
  const model = initializeModel(
    { ...config, model: { ...config.model, random_seed } },
    {
      numRelations: storage.numRelations,
      numClasses: Math.max(0, dataset.stats.num_classes),
      text: dataset.textSizes,
    },
  );
  model.encoderOptimizer = null;
  return model.eval();
}

/**
 * Returns inputs whose trained rows are random numbers of the same size; features stay. The row of a node depends on the seed
 * and on the node alone.
 * @param like inputs whose trained rows have the size
 */
export function withRandomRows(
  given: NeighborhoodInputs,
  seed: number,
  like: NeighborhoodInputs = given,
): NeighborhoodInputs {
  const { embeddings, ids } = given.inputs;
  if (embeddings === null || like.inputs.embeddings === null) return given;
  const std = rootMeanSquare(like.inputs.embeddings.dataSync() as Float32Array);
  const rows = normalRows(ids, embeddings.shape[1], std, seed);
  return { ...given, inputs: { ...given.inputs, embeddings: fromTypedArray(rows, embeddings.shape) } };
}

/** Nodes that are encoded at a time. */
const nodesAtOnce = 8;

/** Returns the rows of nodes as a model with random parameters encodes them, from random rows of the size of `like`. */
export async function randomlyEncoded(
  run: OpenedGraphRun,
  model: LinkPredictionModel,
  ids: Int32Array,
  like: NeighborhoodInputs,
  { seed, pace }: { readonly seed: number; readonly pace: Pace },
): Promise<NodeRows> {
  const parts: Float32Array[] = [];
  for (let from = 0; from < ids.length; from += nodesAtOnce) {
    await pace.step();
    const some = ids.subarray(from, from + nodesAtOnce);
    const around = await neighborhoodInputs(run, some, { maxEdges: Number.POSITIVE_INFINITY, name: 'nodes' });
    const given = withRandomRows(around, seed, like);
    parts.push(noGrad(() => scope(() => encodedTargets(model, given, some.length))));
  }
  const rows = new Float32Array(parts.reduce((total, { length }) => total + length, 0));
  let at = 0;
  for (const part of parts) {
    rows.set(part, at);
    at += part.length;
  }
  return { rows, width: rows.length / Math.max(1, ids.length) };
}

/** Returns the rows of the nodes that a neighbourhood was sampled for, in their order. */
function encodedTargets(model: LinkPredictionModel, given: NeighborhoodInputs, count: number): Float32Array {
  const { sampled, edgeIds } = given;
  const whole = fromTypedArray(new Float32Array(edgeIds.length).fill(1), [edgeIds.length, 1]);
  const rows = encodeMasked(model, given, whole, null);
  const targets = sampled?.targetRows ?? Int32Array.from({ length: count }, (_, i) => i);
  return (gatherRows(rows, targets).contiguous().dataSync() as Float32Array).slice();
}

/** Returns a function that gives each node a random row of the size of `rows`, always the same one. */
export function randomRows({ rows, width }: NodeRows, seed: number): (ids: Int32Array) => Promise<NodeRows> {
  const std = rootMeanSquare(rows);
  return async (ids) => ({ rows: normalRows(ids, width, std, seed), width });
}

/** Returns random rows: that of a node is at a place of its own in one sequence of numbers. */
function normalRows(ids: Int32Array, width: number, std: number, seed: number): Float32Array {
  const { key } = new Random(seed, stream);
  const rows = new Float32Array(ids.length * width);
  for (const [i, id] of ids.entries())
    kernels().randomNormal(rows.subarray(i * width, (i + 1) * width), width, 0, std, key, id * 4 * width);
  return rows;
}

function rootMeanSquare(values: Float32Array): number {
  let total = 0;
  for (const value of values) total += value * value;
  return Math.sqrt(total / Math.max(1, values.length));
}
