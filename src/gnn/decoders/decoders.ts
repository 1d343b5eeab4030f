/** The decoders by name, including the no-op decoder of node classification. */
import { Module } from '../../nn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { checkSettings } from '../../util/check-settings.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkRecord, checkResult, Registry } from '../../util/registry.js';
import {
  type ConfigType,
  choice,
  flag,
  fraction,
  type Settings,
  type ValuesOf,
} from '../../util/settings.js';
import { DiagonalOperator, GivensOperator } from './affine-operators.js';
import { type ComparatorType, comparators, DotCompare, L2Compare, SquaredL2Compare } from './comparator.js';
import { EdgeDecoder, type EdgeDecoderOptions } from './edge-decoder.js';
import { MatrixOperator } from './matrix-operator.js';
import {
  ComplexHadamardOperator,
  HadamardOperator,
  NoOp,
  RelationOperator,
  RotationOperator,
  TranslationOperator,
} from './relation-operator.js';

/** Checks option names here and not in `EdgeDecoder`, because custom decoders may have further options. */
function checkDecoderOptions(where: string, options: EdgeDecoderOptions): EdgeDecoderOptions {
  checkOptionNames(where, options, {
    dtype: true,
    random: true,
    dim: true,
    numRelations: true,
    inverseEdges: true,
    method: true,
    comparator: true,
    bias: true,
    relationInit: true,
    entityDropout: true,
    relationDropout: true,
  });
  return options;
}

/** (src ∘ r) · dst — Yang et al., "Embedding entities and relations" (2015). */
export class DistMult extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(
      new HadamardOperator(),
      options.comparator ?? new DotCompare(),
      checkDecoderOptions('DistMult', options),
    );
  }
}

/** −|src + r − dst| — Bordes et al., "Translating embeddings" (2013). */
export class TransE extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(
      new TranslationOperator(),
      options.comparator ?? new L2Compare(),
      checkDecoderOptions('TransE', options),
    );
  }
}

/** Re(src · r · conj(dst)), real parts first — Trouillon et al., "Complex embeddings" (2016). */
export class ComplEx extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(
      new ComplexHadamardOperator(),
      options.comparator ?? new DotCompare(),
      checkDecoderOptions('ComplEx', options),
    );
  }
}

/** −|src · exp(i r) − dst| with d / 2 angles per relation — Sun et al., "RotatE" (2019). */
export class RotatE extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(
      new RotationOperator(),
      options.comparator ?? new L2Compare(),
      checkDecoderOptions('RotatE', options),
    );
  }
}

/** srcᵀ M dst with a matrix of dim · dim numbers per relation — Nickel et al., "A three-way model" (2011). */
export class Rescal extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(
      new MatrixOperator(),
      options.comparator ?? new DotCompare(),
      checkDecoderOptions('Rescal', options),
    );
  }
}

/** −|G src + v − dst|² + both biases, where G turns pairs of columns and v shifts — Chami et al. (2020), RotE. */
export class RotE extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(new GivensOperator(), options.comparator ?? new SquaredL2Compare(), {
      bias: true,
      ...checkDecoderOptions('RotE', options),
    });
  }
}

/** −|D src + v − dst|² + both biases, where D is diagonal — Balažević et al. (2019), MuRE. */
export class MuRE extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(new DiagonalOperator(), options.comparator ?? new SquaredL2Compare(), {
      bias: true,
      ...checkDecoderOptions('MuRE', options),
    });
  }
}

/** src · dst; relations of edges are ignored. */
export class DotDecoder extends EdgeDecoder {
  constructor(options: Omit<EdgeDecoderOptions, 'numRelations' | 'inverseEdges'>) {
    super(new NoOp(), options.comparator ?? new DotCompare(), {
      ...checkDecoderOptions('DotDecoder', options),
      numRelations: 0,
    });
  }
}

/** Returns the encoder's output as the prediction. */
export class NoOpNodeDecoder extends Module {
  forward(x: Tensor): Tensor {
    return x;
  }
}

/** An edge decoder that a configuration can name: `model.decoder: { type: DISTMULT }`. */
interface DecoderType<N extends string, S extends Settings> extends ConfigType<N, S> {
  readonly operator: RelationOperator;
  /** @param values all options of the configuration, including custom ones. */
  readonly make: (options: EdgeDecoderOptions, values: ValuesOf<S>) => EdgeDecoder;
}

function decoderType<const N extends string>(
  name: N,
  comparator: ComparatorType,
  operator: RelationOperator,
  make: (options: EdgeDecoderOptions) => EdgeDecoder,
  bias = false,
): DecoderType<N, ReturnType<typeof edgeSettings>> {
  return { name, settings: edgeSettings(comparator, bias), operator, make };
}

const edgeSettings = (comparator: ComparatorType, bias = false) => ({
  inverse_edges: flag(
    true,
    'use a second table of relations to predict sources; false: the first one, by the adjoint operator. DISTMULT, COMPLEX and RESCAL have it with DOT, TRANSE with distances, ROTATE with all but L1; other combinations then predict destinations only',
  ),
  use_relation_features: flag(
    false,
    'relations from the dataset instead of learnt ones; only false is available',
  ),
  edge_decoder_method: choice(
    ['CORRUPT_NODE', 'ONLY_POS', 'POS_AND_NEG', 'CORRUPT_REL'],
    'CORRUPT_NODE',
    'which corrupted edges a true edge is compared with',
    { aliases: { train: 'CORRUPT_NODE', infer: 'ONLY_POS' } },
  ),
  entity_dropout: fraction(0, 'fraction of the numbers of entities that training drops, at every use', {
    ours: true,
  }),
  relation_dropout: fraction(0, 'fraction of the numbers of relations that training drops, at every use', {
    ours: true,
  }),
  comparator: choice(
    Object.keys(comparators) as ComparatorType[],
    comparator,
    'how two vectors are compared; distances are negated, so larger is always better',
    { ours: true },
  ),
  bias: flag(bias, 'the last column of a row is a bias, which SQUARED_L2 adds to the score', { ours: true }),
});

/** All built-in edge decoders; Marius has DISTMULT, TRANSE and COMPLEX. */
export const decoderTypes = [
  decoderType('DISTMULT', 'DOT', new HadamardOperator(), (options) => new DistMult(options)),
  decoderType('TRANSE', 'L2', new TranslationOperator(), (options) => new TransE(options)),
  decoderType('COMPLEX', 'DOT', new ComplexHadamardOperator(), (options) => new ComplEx(options)),
  decoderType('ROTATE', 'L2', new RotationOperator(), (options) => new RotatE(options)),
  decoderType('RESCAL', 'DOT', new MatrixOperator(), (options) => new Rescal(options)),
  decoderType('ROTE', 'SQUARED_L2', new GivensOperator(), (options) => new RotE(options), true),
  decoderType('MURE', 'SQUARED_L2', new DiagonalOperator(), (options) => new MuRE(options), true),
  decoderType('DOT', 'DOT', new NoOp(), (options) => new DotDecoder(options)),
] as const;

export type EdgeDecoderName = (typeof decoderTypes)[number]['name'];

/** The registry of edge decoders: the built-in and custom ones. */
export const decoderRegistry = new Registry<(typeof decoderTypes)[number]>({
  taken: ['NODE'],
  ...{ key: 'model.decoder.type', builtIn: decoderTypes, reserved: 'type' },
});

/** Creates the decoder of a type. @param values its options in the configuration; only custom decoders read them. */
export function edgeDecoder(
  type: EdgeDecoderName,
  options: EdgeDecoderOptions,
  values: object = {},
): EdgeDecoder {
  return decoderRegistry.get(type, 'edgeDecoder', 'type').make(options, values as never);
}

/** A custom decoder for `registerDecoder`. */
export interface CustomDecoder<S extends Settings = Settings> {
  readonly name: string;
  /** Applies a relation to a row. */
  readonly operator: RelationOperator;
  /** The default comparator of two rows; DOT if it is absent. */
  readonly comparator?: ComparatorType;
  /** Options in addition to those of all decoders. */
  readonly settings?: S;
  /** Default: a decoder of the operator and the comparator alone. */
  readonly make?: (options: EdgeDecoderOptions, values: ValuesOf<S>) => EdgeDecoder;
}

class OperatorDecoder extends EdgeDecoder {}

/**
 * Registers an edge decoder, so that configurations can name it as `model.decoder: { type: MINE }`.
 *
 * @returns a function that removes it.
 * @example
 * registerDecoder({ name: 'MINE', operator: new MyOperator(), comparator: 'L2' });
 */
export function registerDecoder<S extends Settings>(given: CustomDecoder<S>): () => void {
  const where = 'registerDecoder';
  checkRecord(where, given);
  checkOptionNames(where, given, {
    ...{ name: true, operator: true, comparator: true, settings: true, make: true },
  });
  const { name, operator, comparator = 'DOT', settings = {}, make } = given;
  if (!(operator instanceof RelationOperator))
    throw new ValueError(expected(where, 'a RelationOperator', 'operator', operator));
  if (!Object.hasOwn(comparators, comparator))
    throw new ValueError(
      expected(where, `one of ${Object.keys(comparators).join(', ')}`, 'comparator', comparator),
    );
  checkSettings(where, settings);
  const checked = (options: EdgeDecoderOptions, values: ValuesOf<S>): EdgeDecoder => {
    const made = (make as NonNullable<typeof make>)(options, values);
    return checkResult(where, `make() of ${name}`, 'an EdgeDecoder', made instanceof EdgeDecoder, made);
  };
  const record = {
    ...{ name, operator },
    settings: { ...edgeSettings(comparator), ...settings },
    make:
      typeof make === 'function'
        ? checked
        : (make ??
          ((options: EdgeDecoderOptions) =>
            new OperatorDecoder(operator, options.comparator ?? comparators[comparator](), options))),
  };
  return decoderRegistry.register(where, record as never, ['make']);
}
