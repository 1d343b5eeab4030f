/**
 * Commented starting configurations for a stream of events, printed by `skein config events.csv`. `pair_statistics` is the
 * default: it trains in seconds, and on CollegeMsg it scores better than TGN and recency. On streams of a few hundred events
 * recency can be better, which the baseline in the report shows. A temporal graph network is written if one of its keys is
 * set, or `model.kind=general`.
 */
import { invocation } from '../../../util/invocation.js';
import { isTree } from '../../../util/schema/key-path.js';
import { parseOverride } from '../../config/overrides.js';
import { estimateEvents } from './stream-size.js';

/**
 * Returns YAML that `skein train` accepts unchanged.
 *
 * @param dataset a known name, or the path of a file of events.
 * @param overrides the keys that will be set, as `section.key=value`; they decide which model the template describes.
 */
export function temporalTemplate(
  dataset: { readonly name: string } | { readonly path: string },
  overrides: readonly string[] = [],
): string {
  const [key, value] = 'name' in dataset ? ['name', dataset.name] : ['path', dataset.path];
  const shown = /^[\w./-]+$/.test(value) ? value : JSON.stringify(value);
  return `# Skein configuration for a stream of events. Every key and default: docs/temporal.md.
# Train: ${invocation()} train <this file>          Change a key: --train.epoch=5
dataset:
  ${key}: ${shown}${key === 'path' ? '  # relative to the working directory' : ''}
  train_share: 0.7               # quantiles of the event times; the rest is the test split
  validation_share: 0.15
  new_node_share: 0.1            # nodes held out from training, for new_node_ap
${modelSections(chosenKind(overrides), 'path' in dataset ? estimateEvents(dataset.path) : undefined)}training:
  random_seed: 1
  patience: 5                    # evaluations without a better ap
  # checkpoint: { minutes: 5 }   # resume with --training.resume_training=true
evaluation:
  negatives: random              # historical and inductive are harder
storage:
  # model_dir: runs/first        # default: a new runs/model_<i>
  log_level: info
`;
}

/** Sections of a temporal graph network: its own, and those of tasks that need its embeddings or its workers. */
const networkSections: readonly string[] = ['sampling', 'memory', 'gnn', 'labels', 'distributed'];

/** Returns the kind that the keys choose, or whose sections they set. */
function chosenKind(overrides: readonly string[]): unknown {
  const keys = overrides.map(parseOverride);
  const isNetwork = keys.some(({ path }) => networkSections.includes(String(path[0])));
  const kinds = keys.flatMap(({ path, value }) => {
    if (path.join('.') === 'model.kind') return [value];
    if (path.join('.') !== 'model') return [];
    return isTree(value) ? ['kind' in value ? value['kind'] : 'general'] : [value];
  });
  return kinds.at(-1) ?? (isNetwork ? 'general' : 'pair_statistics');
}

/** Returns the sections of the model. Kinds without a template train with their defaults. */
function modelSections(kind: unknown, events: number | undefined): string {
  if (kind === 'general') return network;
  return kind === 'pair_statistics' ? statistics(events) : `model:\n  kind: ${JSON.stringify(kind)}\n`;
}

/** Most events of a stream whose batches are small, because larger ones would be too few steps to learn from. */
const fewEvents = 10_000;

function statistics(events = Number.POSITIVE_INFINITY): string {
  const isShort = events <= fewEvents;
  return `# Running statistics of pairs and nodes, and a small network. For TGN: skein config … --model.kind=general
model:
  kind: pair_statistics          # edge_bank is the simplest baseline; all kinds: docs/temporal.md
train:
  epoch: ${isShort ? 10 : 3}
  batch_size: ${isShort ? 20 : 200}
  lr: 0.005
`;
}

const network = `model:
  kind: general                  # the four sections of TGL's model files; TGN as they are here
sampling:
  layer: 1                       # hops
  neighbor: [10]                 # neighbours per hop
  strategy: recent               # or uniform
memory:
  type: node                     # none: no memory (TGAT)
  dim_out: 100
  dim_time: 100
  memory_update: gru             # rnn (JODIE), transformer (APAN)
  mailbox_size: 1
  mail_combine: last             # or mean
  deliver_to: self               # or neighbors (APAN)
gnn:
  arch: transformer_attention    # or identity: the memory itself
  variant: tgn                   # or tgl
  layer: 1
  att_head: 2
  dim_time: 100
  dim_out: 100
  pair_depth: 64                 # past events of each node searched for the other one; 0: embeddings only
train:
  epoch: 10
  batch_size: 200                # events of one batch do not see each other in memory
  lr: 0.001
  dropout: 0.1
  att_dropout: 0.1
`;
