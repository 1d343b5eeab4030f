/**
 * `NodeClassifier`: labels that change with time, from embeddings of (node, time) pairs; two maps with a relu
 * between, as TGN and TGL have. Train it on embeddings outside the tape to leave the model as it is.
 */
import { MLP, Module, type ParameterOptions } from '../../nn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

export interface NodeClassifierHeadOptions extends ParameterOptions {
  /** Default: the width of the input. */
  readonly dimHidden?: number;
  /** Default 1: a logit of one yes-or-no label. */
  readonly numClasses?: number;
  readonly dropout?: number;
}

/** embeddings [n, d] → logits [n, classes]. */
export class NodeClassifier extends Module {
  readonly mlp: MLP;

  constructor(dimIn: number, options: NodeClassifierHeadOptions = {}) {
    super();
    checkOptionNames('NodeClassifier', options, {
      dtype: true,
      random: true,
      dimHidden: true,
      numClasses: true,
      dropout: true,
    });
    checkInteger('NodeClassifier', 'dimIn', dimIn, 1);
    const { dimHidden = dimIn, numClasses = 1 } = options;
    this.mlp = new MLP([dimIn, dimHidden, numClasses], options);
  }

  forward(embeddings: Tensor): Tensor {
    return this.mlp.forward(embeddings);
  }
}
