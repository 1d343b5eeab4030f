/** A commented starting configuration for a stream of events, printed by `skein config wikipedia`. */
import { invocation } from '../../../util/invocation.js';

/** Returns YAML that `skein train` accepts unchanged. `dataset` is a known name, or the path of a file of events. */
export function temporalTemplate(dataset: { readonly name: string } | { readonly path: string }): string {
  const [key, value] = 'name' in dataset ? ['name', dataset.name] : ['path', dataset.path];
  const shown = /^[\w./-]+$/.test(value) ? value : JSON.stringify(value);
  return `# Skein configuration for a stream of events. Every key and default: docs/temporal.md.
# Train: ${invocation()} train <this file>          Change a key: --train.epoch=5
dataset:
  ${key}: ${shown}${key === 'path' ? '  # relative to the working directory' : ''}
  train_share: 0.7               # quantiles of the event times; the rest is the test split
  validation_share: 0.15
  new_node_share: 0.1            # nodes held out from training, for new_node_ap
# model: edge_bank              # replaces the model of the next sections; kinds: docs/temporal.md
# The four sections of TGL's model files:
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
training:
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
