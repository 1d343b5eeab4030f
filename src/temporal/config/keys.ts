/**
 * Every key of a model file of TGL or StarryGL: its type, its default and its meaning; and the keys of the originals that have no
 * effect here. Keys that only Skein has are marked `ours`.
 */
import type { SectionValues } from '../../util/read-settings.js';
import type { IgnoredKey } from '../../util/schema/ignored.js';
import {
  choice,
  flag,
  integer,
  integers,
  number,
  requiredChoice,
  type Settings,
} from '../../util/settings.js';

const sampling = {
  layer: integer(0, 1, 'hops; 0 when nothing is sampled'),
  neighbor: integers(1, 'one per hop', [], 'fan-out of each hop, the one next to the roots first'),
  strategy: choice(
    ['recent', 'uniform', 'weighted', 'identity'],
    'recent',
    'which past events; identity: none; weighted: in a program only, which gives the weights',
  ),
  prop_time: flag(false, "deeper hops are asked about at the root's time instead of the edge's"),
  history: integer(1, 1, 'windows that the past of a root is cut into'),
  duration: number(0, 'length of a window; 0: all of the past, with one window only', { min: 0 }),
} satisfies Settings;

const memory = {
  type: requiredChoice(['node', 'none'], 'whether nodes have memory'),
  dim_out: integer(0, 0, 'width of the memory of a node'),
  dim_time: integer(0, 0, 'width of the encoding of time in the updater'),
  deliver_to: choice(
    ['self', 'neighbors'],
    'self',
    'who gets the mail of an event: both ends, or their sampled neighbours as well',
  ),
  mail_combine: choice(['last', 'mean'], 'last', 'what becomes of several mails of one batch'),
  memory_update: choice(['gru', 'rnn', 'transformer', 'identity'], 'gru', 'how mail changes the memory'),
  mailbox_size: integer(1, 1, 'mails that a node keeps'),
  attention_head: integer(1, 2, 'heads of the transformer updater'),
  combine_node_feature: flag(false, 'add the features of a node to its memory'),
  time_input: choice(
    ['mail', 'query'],
    'mail',
    "the time that the updater sees next to the memory's: of the mail (TGN, DistTGL) or of the question (TGL)",
    { ours: true },
  ),
  empty_mail: choice(
    ['keep', 'update'],
    'keep',
    'what becomes of a memory without mail: kept (TGN) or updated from zeros (TGL)',
    { ours: true },
  ),
} satisfies Settings;

const gnn = {
  arch: requiredChoice(
    ['transformer_attention', 'identity'],
    'how embeddings are made; identity: the memory itself',
  ),
  layer: integer(1, 1, 'layers of attention'),
  att_head: integer(1, 2, 'their heads'),
  dim_time: integer(0, 0, 'width of their encoding of time'),
  dim_out: integer(0, 0, 'width of embeddings'),
  use_src_emb: flag(false, 'the own half of a mail is the embedding of the source instead of its memory'),
  use_dst_emb: flag(false, 'the other half is the embedding of the destination'),
  time_transform: choice(
    ['JODIE', 'none'],
    'none',
    "JODIE's projection of the memory to the time of a question",
  ),
  combine: choice(['rnn', 'none'], 'none', 'how embeddings of several windows become one'),
  dyrep: flag(false, 'score the updated memory; embeddings go into mails only'),
  variant: choice(
    ['tgl', 'tgn'],
    'tgl',
    'attention as in TGL (LeakyReLU of unscaled scores) or as in TGN (scaled dot product)',
    { ours: true },
  ),
  pair_depth: integer(
    0,
    0,
    'past events of either node in which the predictor looks for the other; 0: it sees the two embeddings alone',
    { ours: true },
  ),
} satisfies Settings;

const train = {
  epoch: integer(1, 10, 'passes over the training events'),
  batch_size: integer(1, 200, 'events of one step; they do not see each other in memory'),
  lr: number(1e-4, 'learning rate of Adam', { min: 0 }),
  dropout: number(0, 'dropout of the attention layers and of the updater', { min: 0, max: 1 }),
  att_dropout: number(0, 'dropout of the attention', { min: 0, max: 1 }),
  reorder: integer(1, 1, 'chunks of a batch by which its boundaries move from epoch to epoch; 1 keeps them'),
} satisfies Settings;

/** The four sections of a model file. */
export const modelSections = { sampling, memory, gnn, train } as const;

export type SectionName = keyof typeof modelSections;
export const sectionNames = Object.keys(modelSections) as readonly SectionName[];

/** The type of a model file: its keys, with all defaults filled in. */
export type TemporalConfig = SectionValues<typeof modelSections>;
export type SamplingSection = TemporalConfig['sampling'];
export type MemorySection = TemporalConfig['memory'];
export type GnnSection = TemporalConfig['gnn'];
export type TrainSection = TemporalConfig['train'];

/** Keys of the originals that have no effect here, with the warning for each. */
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
