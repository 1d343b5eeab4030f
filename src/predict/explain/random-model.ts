/** Models with random parameters, whose explanations must differ from those of a trained one (Adebayo et al., NeurIPS 2018). */
import { init } from '../../nn/index.js';
import { type Tensor, zeros } from '../../tensor/index.js';
import type { OpenedGraphRun } from '../../train/index.js';
import { initializeModel } from '../../train/tasks/graph/initialize-model.js';
import type { Model } from '../../train/tasks/graph/model/model.js';
import { Random } from '../../util/philox.js';
import type { NodeRows } from '../top-nodes.js';
import type { NeighborhoodInputs } from './neighborhood-inputs.js';

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

/** Returns inputs whose trained rows are random numbers of the same size; features stay. */
export function withRandomRows(given: NeighborhoodInputs, seed: number): NeighborhoodInputs {
  const { embeddings } = given.inputs;
  if (embeddings === null) return given;
  const std = rootMeanSquare(embeddings.dataSync() as Float32Array);
  return { ...given, inputs: { ...given.inputs, embeddings: randomLike(embeddings, std, seed) } };
}

function randomLike({ shape }: Tensor, std: number, seed: number): Tensor {
  return init.normal(zeros(shape), { std, random: new Random(seed, stream) });
}

/** Returns a function that gives each node a random row of the size of `rows`, always the same one. */
export function randomRows({ rows, width }: NodeRows, seed: number): (ids: Int32Array) => Promise<NodeRows> {
  const std = rootMeanSquare(rows);
  return async (ids) => {
    const found = new Float32Array(ids.length * width);
    for (const [i, id] of ids.entries()) {
      const row = init.normal(zeros([width]), { std, random: new Random(seed, stream + 1 + id) });
      found.set(row.dataSync() as Float32Array, i * width);
      row.dispose();
    }
    return { rows: found, width };
  };
}

function rootMeanSquare(values: Float32Array): number {
  let total = 0;
  for (const value of values) total += value * value;
  return Math.sqrt(total / Math.max(1, values.length));
}
