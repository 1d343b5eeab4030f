/**
 * Node classification: the encoder's result has one column per class.
 */
import { crossEntropy } from '../../nn/index.js';
import { noGrad, scope, type Tensor } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import type { Batch } from '../batch/batch.js';
import type { Encoder } from './encoder.js';
import type { Featurizer } from './featurizer.js';
import { Model } from './model.js';

export interface NodeClassificationParts {
  readonly encoder: Encoder;
  readonly featurizer?: Featurizer | null;
}
