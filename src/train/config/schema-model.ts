/**
 * Schema, defaults and documentation of the `model` section. Names and defaults are those of Marius, except where a comment
 * gives a reason; keys marked `ours` are extensions.
 */
import { convRegistry } from '../../gnn/conv/conv-registry.js';
import { decoderRegistry, type decoderTypes } from '../../gnn/decoders/decoders.js';
import { lossRegistry } from '../../gnn/decoders/loss-types.js';
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

/** Returns the keys of a record as the list that `choice` takes. */
const keysOf = <K extends string>(table: Readonly<Record<K, unknown>>) => Object.keys(table) as [K, ...K[]];

const init = () => variants(typeShapes(initTypes), { type: 'GLOROT_UNIFORM' });

const optimizers = () => typeShapes(optimizerRegistry.all());

const optimizer = () => variants(optimizers(), { type: 'ADAGRAD' });
/** The optimiser of one layer or of the decoder. */
const ownOptimizer = () => variants({ DEFAULT: {}, ...optimizers() }, { type: 'DEFAULT' });

const gnn = () => flatVariants(typeShapes(convRegistry.all()), { type: 'GRAPH_SAGE' });

const layerKeys = () => ({
  input_dim: field(integer(-1), -1, {
    doc: 'width of the input; default: the output width of the previous stage. Not for EMBEDDING, FEATURE and TEXT',
    shown: 'derived',
  }),
  output_dim: field(integer(-1), -1, {
    doc: 'width of the output; required except for REDUCTION CONCAT and SUM, where it follows from the inputs',
    shown: 'derived',
  }),
  bias: field(flag(), false, 'add a learnt bias'),
  activation: field(
    choice(keysOf(activationTypes)),
    'NONE',
    'applied after the bias and the normalisation; NONE, RELU and SIGMOID are also in Marius',
  ),
  init: field(init(), { type: 'GLOROT_UNIFORM' }, 'initial values of the weights or of the embedding table'),
  bias_init: field(init(), { type: 'ZEROS' }, 'initial values of the bias'),
  optimizer: field(
    ownOptimizer(),
    { type: 'DEFAULT' },
    'optimiser of this layer; DEFAULT: model.dense_optimizer',
  ),
  norm: field(choice(['NONE', 'BATCH', 'LAYER']), 'NONE', {
    doc: 'normalisation of the output before the activation: BATCH over the nodes of a step, LAYER over the columns of a node',
    ours: true,
  }),
  dropout: field(fraction(), 0, {
    doc: 'fraction of the outputs that training drops after the activation',
    ours: true,
  }),
});

const layer = () =>
  variants(
    {
      EMBEDDING: {},
      FEATURE: {},
      TEXT: {
        word_dim: field(integer(1), 64, {
          doc: 'width of the vector of a word; each text column has a matrix of word_dim × output_dim',
          ours: true,
        }),
        word_dropout: field(fraction(), 0, {
          doc: 'fraction of the words that training drops',
          ours: true,
        }),
      },
      GNN: gnn(),
      REDUCTION: {
        type: field(
          choice(['CONCAT', 'LINEAR', 'SUM']),
          'CONCAT',
          'CONCAT: concatenate the inputs; LINEAR: multiply the concatenation by a weight matrix; SUM (ours): add inputs of one width',
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
        UNIFORM: { max_neighbors: field(integer(1), 10, 'neighbours sampled per node and direction') },
        DROPOUT: { rate: field(fraction(), 0, 'fraction of the neighbours left out') },
      },
      { type: 'ALL' },
    ),
    'a list with one entry per GNN stage',
  );

const encoder = () =>
  section({
    use_incoming_nbrs: field(flag(), true, 'pass messages along incoming edges'),
    use_outgoing_nbrs: field(flag(), true, 'pass messages along outgoing edges'),
    embedding_dim: field(integer(-1), -1, {
      doc: 'width of the node table; always the sum of the EMBEDDING layers',
      shown: 'derived',
    }),
    layers: required(
      list(list(layer(), 'a list of layers'), 'a list of stages, each a list of layers'),
      'the stages; layers of one stage run in parallel',
    ),
    train_neighbor_sampling: field(
      neighborSampling(),
      [],
      'neighbour sampling in training, one entry per GNN stage; SGC, APPNP and LIGHT_GCN take one per hop',
    ),
    eval_neighbor_sampling: field(neighborSampling(), [], {
      doc: 'neighbour sampling in evaluation',
      shown: 'as train_neighbor_sampling',
    }),
  });

const relationInit = () =>
  field(
    variants({ DEFAULT: {}, ...typeShapes(initTypes) }, { type: 'DEFAULT' }),
    { type: 'DEFAULT' },
    {
      doc: 'initial values of the relations; DEFAULT: those of the decoder (1; TRANSE 0; ROTATE random angles)',
      ours: true,
    },
  );

/** Returns the options of each edge decoder: those of its record, and the section that all have. */
function edgeDecoders() {
  type Shapes = ReturnType<typeof typeShapes<(typeof decoderTypes)[number]>>;
  type WithInit = { [K in keyof Shapes]: Shapes[K] & { relation_init: ReturnType<typeof relationInit> } };
  const shapes = Object.entries(typeShapes(decoderRegistry.all()));
  return Object.fromEntries(
    shapes.map(([name, shape]) => [name, { ...shape, relation_init: relationInit() }]),
  ) as unknown as WithInit;
}

const decoder = () =>
  variants(
    { ...edgeDecoders(), NODE: {} },
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
  type: field(choice(['NONE', 'NORM', 'N3', 'LP']), 'NONE', {
    doc: 'NORM: coef/2 · Σ‖x‖_p over the ends of edges, added to the loss as it is. N3 and LP are relative to the mean loss of a directed example, an edge in one direction, whatever the reduction. N3: coef · Σ|x|³ over its two ends and relation, complex moduli for COMPLEX and ROTATE. LP: coef/p · Σ|x|ᵖ over the two ends and the relation of an edge, half of it for each direction',
    ours: true,
  }),
  norm: field(integer(1), 2, { doc: 'the p of NORM and LP', ours: true }),
  coef: field(number(0), 0, { doc: 'weight of the penalty in the loss; N3 and LP: of entities', ours: true }),
  relation_coef: field(number(0), 0, {
    doc: 'N3 and LP: weight of the penalty of relations; the angles of ROTATE have none',
    ours: true,
    shown: 'coef',
  }),
  weighted: field(flag(), true, {
    doc: 'LP: rows are penalised as often as a batch uses them; false: all rows in every step',
    ours: true,
  }),
});

/** Returns the schema with all names that are registered now. */
export const modelSchema = () =>
  section({
    random_seed: field(integer(0, Number.MAX_SAFE_INTEGER), 0, {
      doc: 'seed of all random numbers; recorded in full_config.yaml',
      shown: 'random',
    }),
    learning_task: required(
      choice(['LINK_PREDICTION', 'NODE_CLASSIFICATION'], {
        lp: 'LINK_PREDICTION',
        nc: 'NODE_CLASSIFICATION',
      }),
      'the task; LP and NC are accepted too',
    ),
    encoder: required(encoder(), 'computes one vector per node from ids, features and neighbours'),
    decoder: field(
      decoder(),
      { type: 'DISTMULT' },
      {
        doc: 'computes scores from vectors; NODE uses the encoder output as class scores. ROTATE and DOT are not in Marius',
        shown: 'DISTMULT, or NODE for node classification',
      },
    ),
    loss: field(
      loss(),
      { type: 'SOFTMAX_CE' },
      {
        doc: 'the loss to minimise',
        shown: 'SOFTMAX_CE, or CROSS_ENTROPY for node classification',
      },
    ),
    regularizer: field(regularizer, {}, { doc: 'a penalty on the embeddings', ours: true }),
    relation_prediction: field(
      section({
        weight: field(number(0), 0, {
          doc: 'weight of the cross entropy of the relation of each directed example among all relations, relative to the mean loss of a directed example; 0: off. For DISTMULT and COMPLEX with DOT',
          ours: true,
        }),
      }),
      {},
      { doc: 'predict relations too, as an auxiliary objective of link prediction', ours: true },
    ),
    dense_optimizer: field(optimizer(), { type: 'ADAGRAD' }, 'optimiser of relations, weights and biases'),
    sparse_optimizer: field(
      optimizer(),
      { type: 'ADAGRAD' },
      {
        doc: 'optimiser of the node table; unlike in Marius it can be ADAM or SGD, and its options take effect',
        shown: 'ADAGRAD with the learning rate of dense_optimizer',
      },
    ),
  });
