/** The decoders by name, and the one that leaves node classification to the encoder. */
import { Module } from '../../nn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { DotCompare, L2Compare } from './comparator.js';
import { EdgeDecoder, type EdgeDecoderOptions } from './edge-decoder.js';
import {
  ComplexHadamardOperator,
  HadamardOperator,
  NoOp,
  RotationOperator,
  TranslationOperator,
} from './relation-operator.js';

/** Decoders of users take options of their own, so that the names are checked here, not in `EdgeDecoder`. */
function checked(where: string, options: EdgeDecoderOptions): EdgeDecoderOptions {
  checkOptionNames(where, options, {
    dtype: true,
    random: true,
    dim: true,
    numRelations: true,
    inverseEdges: true,
    method: true,
  });
  return options;
}

/** (src ∘ r) · dst — Yang et al., "Embedding entities and relations" (2015). */
export class DistMult extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(new HadamardOperator(), new DotCompare(), checked('DistMult', options));
  }
}

/** −|src + r − dst| — Bordes et al., "Translating embeddings" (2013). */
export class TransE extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(new TranslationOperator(), new L2Compare(), checked('TransE', options));
  }
}

/** Re(src · r · conj(dst)), real parts first — Trouillon et al., "Complex embeddings" (2016). */
export class ComplEx extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(new ComplexHadamardOperator(), new DotCompare(), checked('ComplEx', options));
  }
}

/** −|src · exp(i r) − dst| with d / 2 angles a relation — Sun et al., "RotatE" (2019). */
export class RotatE extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(new RotationOperator(), new L2Compare(), checked('RotatE', options));
  }
}

/** src · dst; relations, if edges have them, are not looked at. */
export class DotDecoder extends EdgeDecoder {
  constructor(options: Omit<EdgeDecoderOptions, 'numRelations' | 'inverseEdges'>) {
    super(new NoOp(), new DotCompare(), { ...checked('DotDecoder', options), numRelations: 0 });
  }
}

/** The encoder's output is the prediction. */
export class NoOpNodeDecoder extends Module {
  forward(x: Tensor): Tensor {
    return x;
  }
}

const decoders = {
  DISTMULT: DistMult,
  TRANSE: TransE,
  COMPLEX: ComplEx,
  ROTATE: RotatE,
  DOT: DotDecoder,
} as const;

export type EdgeDecoderName = keyof typeof decoders;

/** A decoder by its name in a configuration. */
export function edgeDecoder(type: EdgeDecoderName, options: EdgeDecoderOptions): EdgeDecoder {
  if (!Object.hasOwn(decoders, type))
    throw new ValueError(expected('edgeDecoder', `one of ${Object.keys(decoders).join(', ')}`, 'type', type));
  return new decoders[type](options);
}
