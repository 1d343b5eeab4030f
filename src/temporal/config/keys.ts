/**
 * Every key that a model file of TGL or StarryGL may have: what its value must be, its default and what it means; and the
 * keys of the originals that mean nothing here. Keys that only we have are marked `ours`.
 */
import {
  choice,
  field,
  flag,
  integer,
  list,
  number,
  type ReadonlyOutput,
  required,
  section,
} from '../../util/schema/fields.js';
import type { IgnoredKey } from '../../util/schema/ignored.js';

const sampling = section({
  layer: field(integer(0), 1, 'hops; 0 when nothing is sampled'),
  neighbor: field(
    list(integer(1), 'a list of whole numbers of at least 1, one per hop'),
    [],
    'fan-out of each hop, the one next to the roots first',
  ),
  strategy: field(
    choice(['recent', 'uniform', 'weighted', 'identity']),
    'recent',
    'which past events; identity: none; weighted: in a program only, which gives the weights',
  ),
  prop_time: field(flag(), false, "deeper hops are asked about at the root's time instead of the edge's"),
  history: field(integer(1), 1, 'windows that the past of a root is cut into'),
  duration: field(number(0), 0, 'length of a window; 0: all of the past, with one window only'),
});

const memory = section({
  type: required(choice(['node', 'none']), 'whether nodes have memory'),
  dim_out: field(integer(0), 0, 'width of the memory of a node'),
  dim_time: field(integer(0), 0, 'width of the encoding of time in the updater'),
  deliver_to: field(
    choice(['self', 'neighbors']),
    'self',
    'who gets the mail of an event: both ends, or their sampled neighbours as well',
  ),
  mail_combine: field(choice(['last', 'mean']), 'last', 'what becomes of several mails of one batch'),
  memory_update: field(
    choice(['gru', 'rnn', 'transformer', 'identity']),
    'gru',
    'how mail changes the memory',
  ),
  mailbox_size: field(integer(1), 1, 'mails that a node keeps'),
  attention_head: field(integer(1), 2, 'heads of the transformer updater'),
  combine_node_feature: field(flag(), false, 'add the features of a node to its memory'),
  time_input: field(choice(['mail', 'query']), 'mail', {
    doc: "the time that the updater sees next to the memory's: of the mail (TGN, DistTGL) or of the question (TGL)",
    ours: true,
  }),
  empty_mail: field(choice(['keep', 'update']), 'keep', {
    doc: 'what becomes of a memory without mail: kept (TGN) or updated from zeros (TGL)',
    ours: true,
  }),
});

const gnn = section({
  arch: required(
    choice(['transformer_attention', 'identity']),
    'how embeddings are made; identity: the memory itself',
  ),
  layer: field(integer(1), 1, 'layers of attention'),
  att_head: field(integer(1), 2, 'their heads'),
  dim_time: field(integer(0), 0, 'width of their encoding of time'),
  dim_out: field(integer(0), 0, 'width of embeddings'),
  use_src_emb: field(
    flag(),
    false,
    'the own half of a mail is the embedding of the source instead of its memory',
  ),
  use_dst_emb: field(flag(), false, 'the other half is the embedding of the destination'),
  time_transform: field(
    choice(['JODIE', 'none']),
    'none',
    "JODIE's projection of the memory to the time of a question",
  ),
  combine: field(choice(['rnn', 'none']), 'none', 'how embeddings of several windows become one'),
  dyrep: field(flag(), false, 'score the updated memory; embeddings go into mails only'),
  variant: field(choice(['tgl', 'tgn']), 'tgl', {
    doc: 'attention as in TGL (LeakyReLU of unscaled scores) or as in TGN (scaled dot product)',
    ours: true,
  }),
  pair_depth: field(integer(0), 0, {
    doc: 'past events of either node in which the predictor looks for the other; 0: it sees the two embeddings alone',
    ours: true,
  }),
});

const train = section({
  epoch: field(integer(1), 10, 'passes over the training events'),
  batch_size: field(integer(1), 200, 'events of one step; they do not see each other in memory'),
  lr: field(number(0), 1e-4, 'learning rate of Adam'),
  dropout: field(number(0, 1), 0, 'dropout of the attention layers and of the updater'),
  att_dropout: field(number(0, 1), 0, 'dropout of the attention'),
  reorder: field(
    integer(1),
    1,
    'chunks of a batch by which its boundaries move from epoch to epoch; 1 keeps them',
  ),
});

/** The four sections of a model file. */
export const modelSections = { sampling, memory, gnn, train } as const;
export const modelSchema = section(modelSections);

export type SectionName = keyof typeof modelSections;
export const sectionNames = Object.keys(modelSections) as readonly SectionName[];

/** A model file as types: its keys as they stand there, all defaults filled in. */
export type TemporalConfig = ReadonlyOutput<typeof modelSchema>;
export type SamplingSection = TemporalConfig['sampling'];
export type MemorySection = TemporalConfig['memory'];
export type GnnSection = TemporalConfig['gnn'];
export type TrainSection = TemporalConfig['train'];

/** Keys of the originals that mean nothing here, and what to say about them. */
export const withoutEffect: readonly IgnoredKey[] = [
  { key: 'sampling.num_thread', why: 'sampling uses the threads of the process (setThreads)' },
  { key: 'sampling.no_neg', why: 'negatives take the same path as positives' },
  { key: 'memory.async', why: 'the runtime fixes the order of reads and commits' },
  { key: 'memory.historical', why: 'state is exact; there is no historical cache' },
  { key: 'memory.historical_fix', why: 'state is exact; there is no historical cache' },
  { key: 'memory.mode', why: 'how state is shared is an option of the runtime' },
  { key: 'train.all_on_gpu', why: 'everything is in memory' },
  { key: 'train.combine_first', why: 'equal (node, time) rows are always computed once' },
  { key: 'train.combine_neighs', why: 'equal (node, time) rows are always computed once' },
];
