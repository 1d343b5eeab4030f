/** Featurizers: they combine fixed features and trained embeddings of nodes into the input of an encoder. */
import { Module } from '../../../../nn/index.js';
import { concat, type Tensor } from '../../../../tensor/index.js';
import { StateError } from '../../../../util/errors.js';

export abstract class Featurizer extends Module {
  abstract override forward(nodeFeatures: Tensor | null, nodeEmbeddings: Tensor | null): Tensor;
}

/** Concatenates the columns of features and embeddings; either alone is returned as it is. */
export class ConcatFeaturizer extends Featurizer {
  override forward(nodeFeatures: Tensor | null, nodeEmbeddings: Tensor | null): Tensor {
    const given = [nodeFeatures, nodeEmbeddings].filter((t) => t !== null);
    if (given.length === 0) throw new StateError('Featurizer: expected features or embeddings, got neither.');
    return given.length === 1 ? given[0] : concat(given, 1);
  }
}
