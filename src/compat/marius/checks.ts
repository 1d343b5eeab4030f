/** Checks of what programs pass to the facades. */
import type { EdgeList } from '../../sample/one-hop-sampler.js';
import { asTensor } from '../../storage/memory-embeddings.js';
import { Tensor } from '../../tensor/index.js';
import { BatchSource, Model } from '../../train/index.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import type { GraphBatcher } from './graph-batcher.js';

/** Throws unless there are two columns of the same length. */
export function checkEdgeList(where: string, edges: EdgeList): EdgeList {
  const { src, dst } = edges;
  for (const [name, ids] of Object.entries({ src, dst }))
    if (!ArrayBuffer.isView(ids) && !Array.isArray(ids))
      throw new ValueError(
        expected(
          where,
          'an Int32Array',
          `edges.${name}`,
          ids,
          'Give { src, dst } or { src, dst, relations }.',
        ),
      );
  if (src.length !== dst.length)
    throw new ShapeError(expected(where, `${src.length} ids (as src)`, 'edges.dst', dst.length));
  return edges;
}

/** Returns rows as a tensor. @param width the columns of an array. */
export function checkRowValues(where: string, given: Tensor | Float32Array, width: number): Tensor {
  if (given instanceof Float32Array) {
    checkInteger(where, 'width', width, 1);
    if (given.length % width === 0) return asTensor(given, width);
    throw new ShapeError(expected(where, `rows of ${width} numbers`, 'rows', `${given.length} numbers`));
  }
  if (given instanceof Tensor) return given;
  throw new ValueError(
    expected(where, 'a tensor or a Float32Array', 'rows', given, 'Give the number of columns with an array.'),
  );
}

/** Throws unless the arguments of a trainer or an evaluator are what their names say. */
export function checkBatcherAndModel(where: string, graphBatcher: GraphBatcher, model: Model): void {
  if (!(graphBatcher?.source instanceof BatchSource))
    throw new ValueError(expected(where, 'a GraphBatcher', 'graphBatcher', graphBatcher));
  if (!(model instanceof Model))
    throw new ValueError(expected(where, 'a Model', 'model', model, 'initializeModel makes one.'));
}
