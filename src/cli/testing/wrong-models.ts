/** Encoders, decoders and losses that do not fit together, for wrong-configurations.test.ts. */

/** Key path, what is expected, the fix. */
export type Message = readonly [key: string, what: string | RegExp, fix: string | RegExp];

export type WrongValue = readonly [
  title: string,
  file: string,
  overrides: readonly string[],
  message: Message,
];

/** Files of test/fixtures/config. */
export const fixtureNames = {
  sage: 'graph-sage-uniform',
  nodes: 'node-classification',
  buffer: 'partition-buffer',
  plain: 'embedding-only',
} as const;

const { sage, nodes, plain } = fixtureNames;

export const wrongModels: readonly WrongValue[] = [
  [
    'no width',
    plain,
    ['model.encoder.layers=[[{type: EMBEDDING}]]'],
    ['model.encoder.layers[0][0].output_dim', 'at least 1', 'for example output_dim: 50'],
  ],
  [
    'flat layers',
    plain,
    ['model.encoder.layers=[{type: EMBEDDING, output_dim: 5}]'],
    ['model.encoder.layers[0]', 'a list of layers', 'got {'],
  ],
  [
    'no layers',
    plain,
    ['model.encoder.layers=[]'],
    ['model.encoder.layers', 'at least one stage', 'Start with a stage'],
  ],
  [
    'odd width for complex numbers',
    plain,
    ['model.decoder.type=complex', 'model.encoder.layers[0][0].output_dim=51'],
    ['model.decoder.type', 'an even encoder output', 'Use an even output_dim'.toLowerCase()],
  ],
  [
    'dims that do not chain',
    sage,
    ['model.encoder.layers[2][0].input_dim=64'],
    [
      'model.encoder.layers[2][0].input_dim',
      'the output_dim 32 of model.encoder.layers[1][0]',
      'Set it to 32',
    ],
  ],
  [
    'GNN first',
    sage,
    ['model.encoder.layers=[[{type: GNN, output_dim: 4}]]'],
    [
      'model.encoder.layers[0][0].type',
      'EMBEDDING, FEATURE or TEXT in the first stage',
      'Put the input before it',
    ],
  ],
  [
    'two outputs',
    plain,
    ['model.encoder.layers=[[{type: EMBEDDING, output_dim: 4}, {type: FEATURE, output_dim: 3}]]'],
    ['model.encoder.layers[0]', 'one layer in the last stage', 'REDUCTION'],
  ],
  [
    'unequal embeddings',
    plain,
    [
      'model.encoder.layers=[[{type: EMBEDDING, output_dim: 4}, {type: EMBEDDING, output_dim: 3}], [{type: REDUCTION}]]',
    ],
    ['model.encoder.layers[0][1].output_dim', 'the same output_dim 4', 'Make them equal'],
  ],
  [
    'columns left over',
    plain,
    [
      'model.encoder.layers=[[{type: EMBEDDING, output_dim: 4}, {type: FEATURE, output_dim: 3}], [{type: DENSE, input_dim: 9, output_dim: 9}]]',
    ],
    ['model.encoder.layers[1]', 'layers that read 7 columns', 'must add up'],
  ],
  [
    'heads that do not divide the width',
    sage,
    ['model.encoder.layers[3][0].options={type: GAT, num_heads: 5, average_heads: false}'],
    ['model.encoder.layers[3][0].output_dim', 'a multiple of num_heads 5', 'average_heads: true'],
  ],
  [
    'too few samplers',
    sage,
    ['model.encoder.train_neighbor_sampling=[{type: ALL}]'],
    ['model.encoder.train_neighbor_sampling', '3 entries, one per GNN stage', 'for each stage'],
  ],
  [
    'samplers without GNN',
    plain,
    ['model.encoder.train_neighbor_sampling=[{type: ALL}]'],
    ['model.encoder.train_neighbor_sampling', '0 entries', 'Remove them'],
  ],
  [
    'no direction',
    sage,
    ['model.encoder.use_incoming_nbrs=false', 'model.encoder.use_outgoing_nbrs=false'],
    ['model.encoder.use_incoming_nbrs', 'true', 'nothing to read'],
  ],
  [
    'everything dropped',
    sage,
    ['model.encoder.train_neighbor_sampling[0]={type: DROPOUT, options: {rate: 1}}'],
    ['train_neighbor_sampling[0].options.rate', 'not including, 1', 'got 1'],
  ],
  [
    'edge decoder for nodes',
    nodes,
    ['model.decoder.type=DISTMULT'],
    ['model.decoder.type', 'NODE, since the task is NODE_CLASSIFICATION', 'Write NODE'],
  ],
  [
    'node decoder for edges',
    plain,
    ['model.decoder={type: NODE}'],
    ['model.decoder.type', 'an edge decoder', 'for example DISTMULT'],
  ],
  [
    'loss of edges for nodes',
    nodes,
    ['model.loss.type=SOFTMAX_CE'],
    ['model.loss.type', 'a classification loss', 'CROSS_ENTROPY'],
  ],
];
