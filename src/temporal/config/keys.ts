/**
 * Every key that a model file may have: what its value must be and what it is when absent, or why it has no effect here.
 * The tables are complete by type: a key of `TemporalConfig` without a rule does not compile.
 */
import { describe } from '../../util/errors.js';
import type { GnnSection, MemorySection, SamplingSection, TrainSection } from './types.js';

/** Gives the value back in its final form, or the words for what was expected. */
export interface Rule<T> {
  readonly read: (value: unknown) => { readonly value: T } | { readonly wanted: string };
  /** Absent: the key must be there. */
  readonly fallback?: T;
}

function rule<T>(wanted: string, accept: (value: unknown) => T | undefined, fallback?: T): Rule<T> {
  const read: Rule<T>['read'] = (given) => {
    const value = accept(given);
    return value === undefined ? { wanted: `${wanted}, got ${describe(given)}` } : { value };
  };
  return fallback === undefined ? { read } : { read, fallback };
}

function whole(min: number, fallback?: number): Rule<number> {
  const fits = (v: unknown): v is number => Number.isSafeInteger(v) && (v as number) >= min;
  return rule(`a whole number of at least ${min}`, (v) => (fits(v) ? v : undefined), fallback);
}

function real(min: number, max: number, fallback?: number): Rule<number> {
  const fits = (v: unknown): v is number =>
    typeof v === 'number' && Number.isFinite(v) && v >= min && v <= max;
  const range = max === Infinity ? `of at least ${min}` : `from ${min} to ${max}`;
  return rule(`a number ${range}`, (v) => (fits(v) ? v : undefined), fallback);
}

function flag(fallback: boolean): Rule<boolean> {
  return rule<boolean>('true or false', (v) => (typeof v === 'boolean' ? v : undefined), fallback);
}

function word<T extends string>(words: readonly T[], fallback?: T): Rule<T> {
  const known = (v: unknown): T | undefined =>
    words.find((w) => typeof v === 'string' && w.toLowerCase() === v.toLowerCase());
  return rule(`one of ${words.join(', ')}`, known, fallback);
}

const fanouts = rule<readonly number[]>(
  'a list of whole numbers of at least 1, one per hop',
  (v) => (Array.isArray(v) && v.every((n) => Number.isSafeInteger(n) && n >= 1) ? [...v] : undefined),
  [],
);

type Rules<T> = { readonly [K in keyof T]-?: Rule<T[K]> };

export const rules: {
  readonly sampling: Rules<SamplingSection>;
  readonly memory: Rules<MemorySection>;
  readonly gnn: Rules<GnnSection>;
  readonly train: Rules<TrainSection>;
} = {
  sampling: {
    layer: whole(0, 1),
    neighbor: fanouts,
    strategy: word(['recent', 'uniform', 'weighted', 'identity'], 'recent'),
    prop_time: flag(false),
    history: whole(1, 1),
    duration: real(0, Infinity, 0),
  },
  memory: {
    type: word(['node', 'none']),
    dim_out: whole(0, 0),
    dim_time: whole(0, 0),
    deliver_to: word(['self', 'neighbors'], 'self'),
    mail_combine: word(['last', 'mean'], 'last'),
    memory_update: word(['gru', 'rnn', 'transformer', 'identity'], 'gru'),
    mailbox_size: whole(1, 1),
    attention_head: whole(1, 2),
    combine_node_feature: flag(false),
    time_input: word(['mail', 'query'], 'mail'),
    empty_mail: word(['keep', 'update'], 'keep'),
  },
  gnn: {
    arch: word(['transformer_attention', 'identity']),
    layer: whole(1, 1),
    att_head: whole(1, 2),
    dim_time: whole(0, 0),
    dim_out: whole(0, 0),
    use_src_emb: flag(false),
    use_dst_emb: flag(false),
    time_transform: word(['JODIE', 'none'], 'none'),
    combine: word(['rnn', 'none'], 'none'),
    dyrep: flag(false),
    variant: word(['tgl', 'tgn'], 'tgl'),
    pair_depth: whole(0, 0),
  },
  train: {
    epoch: whole(1, 10),
    batch_size: whole(1, 200),
    lr: real(0, Infinity, 1e-4),
    dropout: real(0, 1, 0),
    att_dropout: real(0, 1, 0),
    reorder: whole(1, 1),
  },
};

export type SectionName = keyof typeof rules;
export const sectionNames = Object.keys(rules) as readonly SectionName[];

/** Keys of the originals that mean nothing here, and what to say about them. */
export const withoutEffect: Readonly<Record<SectionName, Readonly<Record<string, string>>>> = {
  sampling: {
    num_thread: 'sampling uses the threads of the process (setThreads)',
    no_neg: 'negatives take the same path as positives',
  },
  memory: {
    async: 'the runtime fixes the order of reads and commits',
    historical: 'state is exact; there is no historical cache',
    historical_fix: 'state is exact; there is no historical cache',
    mode: 'how state is shared is an option of the runtime',
  },
  gnn: {},
  train: {
    all_on_gpu: 'everything is in memory',
    combine_first: 'equal (node, time) rows are always computed once',
    combine_neighs: 'equal (node, time) rows are always computed once',
  },
};
