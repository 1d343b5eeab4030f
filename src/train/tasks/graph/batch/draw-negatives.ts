/** Negatives of a batch, as its sampler draws them. */
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import type { Tensor } from '../../../../tensor/index.js';
import { expected, ShapeError } from '../../../../util/errors.js';
import type { NegativeDraw, TrainingNegativeSampler } from '../../links/negative-sampler.js';
import type { Negatives, TrainingBatch } from './training-batch.js';

const name = 'BatchSource';

/** Adds negatives to a batch. Negative edges replace neither end, so one draw serves both directions. */
export function drawNegatives(batch: TrainingBatch, sampler: TrainingNegativeSampler | null): TrainingBatch {
  if (sampler === null) return batch;
  const sources = fromTensor(sampler.getNegatives(batch, true));
  if ('src' in sources) return batch.with({ negativeEdges: checkNegativeEdges(batch, sources) });
  const destinations = fromTensor(sampler.getNegatives(batch, false));
  if ('src' in destinations)
    throw new ShapeError(
      expected(name, 'node ids for both ends, or edges for both', 'getNegatives(batch, false)', 'edges'),
    );
  return batch.with({ srcNegatives: asNegatives(sources), dstNegatives: asNegatives(destinations) });
}

/** Reads a tensor of node ids [n], or of edges [n, 2] (source, destination) or [n, 3] (source, relation, destination). */
function fromTensor(given: NegativeDraw): Exclude<NegativeDraw, Tensor> {
  if (!('dataSync' in given)) return given;
  const [count, columns] = given.shape;
  const ids = Int32Array.from(given.dataSync() as ArrayLike<number>);
  if (given.shape.length === 1) return ids;
  if (given.shape.length !== 2 || (columns !== 2 && columns !== 3))
    throw new ShapeError(expected(name, 'shape [n], [n, 2] or [n, 3]', 'negatives', given.shape));
  const column = (c: number): Int32Array =>
    Int32Array.from({ length: count }, (_, i) => ids[i * columns + c]);
  return { src: column(0), dst: column(columns - 1), relations: columns === 3 ? column(1) : null };
}

function checkNegativeEdges(batch: TrainingBatch, edges: EdgeList): EdgeList {
  const [given, positive] = [edges.src.length, batch.src?.length ?? 0];
  if (given % Math.max(1, positive) !== 0 || edges.dst.length !== given)
    throw new ShapeError(
      expected(name, `a multiple of the batch's ${positive} edges`, 'negative edges', given),
    );
  return edges;
}

function asNegatives(given: Negatives | Int32Array): Negatives {
  return given instanceof Int32Array ? { ids: given, chunks: 1 } : given;
}
