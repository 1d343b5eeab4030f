/**
 * Schema, defaults and documentation of the `model` section. Marius's names and defaults, except where a comment says why
 * not; keys marked `ours` are additions.
 */
import { convRegistry } from '../../gnn/conv/conv-registry.js';
import { decoderRegistry } from '../../gnn/decoders/decoders.js';
import { lossRegistry } from '../../gnn/decoders/link-losses.js';
import { activationTypes } from '../../nn/activation.js';
import { initTypes } from '../../nn/start-values.js';
import { optimizerRegistry } from '../../storage/optimizer-types.js';
import {
  choice,
  field,
  flag,
  flatVariants,
  fraction,
  integer,
  list,
  number,
  required,
  section,
  typeShapes,
  variants,
} from '../../util/schema/fields.js';
import { aliasesOf } from '../../util/settings.js';

/** The keys of a table as the list that a choice takes. */
const keysOf = <K extends string>(table: Readonly<Record<K, unknown>>) => Object.keys(table) as [K, ...K[]];

const init = () => variants(typeShapes(initTypes), { type: 'GLOROT_UNIFORM' });

const optimizers = () => typeShapes(optimizerRegistry.all());

const optimizer = () => variants(optimizers(), { type: 'ADAGRAD' });
/** The optimiser of one layer or of the decoder. */
const ownOptimizer = () => variants({ DEFAULT: {}, ...optimizers() }, { type: 'DEFAULT' });

const gnn = () => flatVariants(typeShapes(convRegistry.all()), { type: 'GRAPH_SAGE' });

const layerKeys = () => ({
  input_dim: field(integer(-1), -1, {
    doc: 'width of the input; left out: the output of the stage before. EMBEDDING and FEATURE have none',
    shown: 'derived',
  }),
  output_dim: field(integer(-1), -1, {
    doc: 'width of the output; required but for REDUCTION CONCAT, where it follows',
    shown: 'derived',
  }),
  bias: field(flag(), false, 'add a learnt bias'),
  activation: field(
    choice(keysOf(activationTypes)),
    'NONE',
    'applied after the bias and the normalisation; NONE, RELU and SIGMOID are also in Marius',
  ),
  init: field(init(), { type: 'GLOROT_UNIFORM' }, 'start values of the weights or of the embedding table'),
  bias_init: field(init(), { type: 'ZEROS' }, 'start values of the bias'),
  optimizer: field(
    ownOptimizer(),
    { type: 'DEFAULT' },
    'optimiser of this layer; DEFAULT: model.dense_optimizer',
  ),
  norm: field(choice(['NONE', 'BATCH', 'LAYER']), 'NONE', {
    doc: 'normalises the output before the activation: BATCH over the nodes of a step, LAYER over the columns of a node',
    ours: true,
  }),
  dropout: field(fraction(), 0, {
    doc: 'share of the outputs that training drops, after the activation',
    ours: true,
  }),
});

const layer = () =>
  variants(
    {
      EMBEDDING: {},
      FEATURE: {},
      GNN: gnn(),
      REDUCTION: {
        type: field(
          choice(['CONCAT', 'LINEAR']),
          'CONCAT',
          'CONCAT: side by side; LINEAR: the same times a weight',
        ),
      },
      DENSE: { type: field(choice(['LINEAR']), 'LINEAR', 'a linear layer') },
    },
    null,
    layerKeys(),
  );

const neighborSampling = () =>
  list(
    variants(
      {
        ALL: {},
        UNIFORM: { max_neighbors: field(integer(1), 10, 'neighbours drawn for each node and direction') },
        DROPOUT: { rate: field(fraction(), 0, 'share of the neighbours left out') },
      },
      { type: 'ALL' },
    ),
    'a list with one entry per GNN stage',
  );

const encoder = () =>
  section({
    use_incoming_nbrs: field(flag(), true, 'messages along incoming edges'),
    use_outgoing_nbrs: field(flag(), true, 'messages along outgoing edges'),
    embedding_dim: field(integer(-1), -1, {
      doc: 'width of the node table; always the sum over EMBEDDING layers',
      shown: 'derived',
    }),
    layers: required(
      list(list(layer(), 'a list of layers'), 'a list of stages, each a list of layers'),
      'the stages; layers of one stage work side by side',
    ),
    train_neighbor_sampling: field(
      neighborSampling(),
      [],
      'neighbours seen in training, one entry per GNN stage; SGC and APPNP have one per hop',
    ),
    eval_neighbor_sampling: field(neighborSampling(), [], {
      doc: 'the same for evaluation',
      shown: 'as train_neighbor_sampling',
    }),
  });

const decoder = () =>
  variants(
    { ...typeShapes(decoderRegistry.all()), NODE: {} },
    { type: 'DISTMULT' },
    {
      optimizer: field(
        ownOptimizer(),
        { type: 'DEFAULT' },
        'optimiser of the relations; DEFAULT: model.dense_optimizer',
      ),
    },
  );

const loss = () =>
  variants(typeShapes(lossRegistry.all()), { type: 'SOFTMAX_CE', aliases: aliasesOf(lossRegistry.all()) });

const regularizer = section({
  type: field(choice(['NONE', 'NORM', 'N3']), 'NONE', {
    doc: 'NORM: coef/2 · Σ‖x‖_norm; N3: coef · Σ|x|³, complex moduli for COMPLEX and ROTATE',
    ours: true,
  }),
  norm: field(integer(1), 2, { doc: 'the p of NORM', ours: true }),
  coef: field(number(0), 0, { doc: 'weight beside the loss', ours: true }),
});

/** Made from the names that are registered now. */
export const modelSchema = () =>
  section({
    random_seed: field(integer(0, Number.MAX_SAFE_INTEGER), 0, {
      doc: 'seed of everything random; kept in full_config.yaml',
      shown: 'drawn',
    }),
    learning_task: required(
      choice(['LINK_PREDICTION', 'NODE_CLASSIFICATION'], {
        lp: 'LINK_PREDICTION',
        nc: 'NODE_CLASSIFICATION',
      }),
      'what is learnt; LP and NC for short',
    ),
    encoder: required(encoder(), 'from ids, features and neighbours to one vector a node'),
    decoder: field(
      decoder(),
      { type: 'DISTMULT' },
      {
        doc: 'from vectors to scores; NODE takes the encoder output as class scores. ROTATE and DOT are ours',
        shown: 'DISTMULT, or NODE for node classification',
      },
    ),
    loss: field(
      loss(),
      { type: 'SOFTMAX_CE' },
      {
        doc: 'what is minimised',
        shown: 'SOFTMAX_CE, or CROSS_ENTROPY for node classification',
      },
    ),
    regularizer: field(regularizer, {}, { doc: 'a penalty on the embeddings', ours: true }),
    dense_optimizer: field(optimizer(), { type: 'ADAGRAD' }, 'optimiser of relations, weights and biases'),
    sparse_optimizer: field(
      optimizer(),
      { type: 'ADAGRAD' },
      {
        doc: 'optimiser of the node table; ADAM and SGD are ours, and the options count',
        shown: 'ADAGRAD with the learning rate of dense_optimizer',
      },
    ),
  });
