/**
 * Schema, defaults and documentation of the `distributed` section: how a run uses several workers. Files of link prediction,
 * node classification and event streams have the same one. The number of workers is not in it: the launcher decides
 * (`skein run -n 4`), so that a file stays the same on every machine.
 */
import { z } from 'zod';
import { graphPartitioners } from '../../dist/partition/partition-graph.js';
import {
  choice,
  field,
  flag,
  integer,
  number,
  type ReadonlyOutput,
  section,
  size,
  text,
} from '../../util/schema/fields.js';

const ours = (doc: string, shown?: string) => ({
  doc,
  ours: true,
  ...(shown === undefined ? {} : { shown }),
});

const temporal = section({
  consistency: field(
    choice(['exact', 'stale_cache', 'local']),
    'exact',
    ours('memory of nodes on other workers: as of the last batch, as last sent, or not asked for'),
  ),
  chunks: field(
    integer(1),
    8,
    ours(
      'exact: parts of a batch, a power of two, in which gradients are formed: any number of workers that divides it gives the same bits; fewer are faster',
    ),
  ),
  cosine_threshold: field(
    number(0, 2),
    0.3,
    ours('stale_cache: a row is sent when 1 - cos to the row last sent is above this'),
  ),
  max_skip: field(integer(0), 10, ours('stale_cache: a row that was not sent this many times is sent')),
  shared_nodes: field(
    number(0, 1),
    0.1,
    ours('stale_cache: share of the nodes, the busiest, that every worker has a copy of'),
  ),
});

const distributedSchema = section({
  mode: field(
    choice(['sar', 'sa', 'one_shot'], { one_shot_aggregation: 'one_shot' }),
    'sar',
    ours(
      'whole-graph layers: fetch rows again in backward, keep what was fetched, or fetch all rows at once; in this order memory rises and messages fall',
    ),
  ),
  pipeline_depth: field(integer(0), 1, ours('shards fetched ahead')),
  max_collective_size: field(size(0), 0, ours('longest single exchange, for example 64M; 0: no limit')),
  compression: field(
    choice(['none', 'f16', 'bf16', 'int8'], { float16: 'f16', bfloat16: 'bf16' }),
    'none',
    ours('how rows travel; all but none lose precision, and what is lost is sent with the next'),
  ),
  partitions: field(
    integer(1, 2 ** 20),
    8,
    ours(
      'into how many parts the graph, or the node table and each of its partitions, is cut, at least as many as workers: the same for any number of workers, so that results are',
    ),
  ),
  partition_algorithm: field(choice(graphPartitioners), 'metis', ours('how the graph is cut')),
  partition_dir: field(
    text('a directory of skein partition').nullable(),
    null,
    ours('partitions made before', 'cut at the start'),
  ),
  features: field(
    choice(['auto', 'spread', 'replicated']),
    'auto',
    ours(
      'mini-batches, storage.features.type HOST_MEMORY: every worker holds a range of the rows and asks others for theirs (spread), or all rows; auto: spread above 1 GiB of them; results are the same',
    ),
  ),
  edges: field(
    choice(['auto', 'spread', 'replicated']),
    'auto',
    ours(
      'mini-batches: every worker holds a part of the training edges and asks others for theirs (spread), or all edges; auto: spread where a copy takes more than 1 GiB; results are the same',
    ),
  ),
  cache_inputs: field(
    flag(),
    false,
    ours(
      'fetch rows of the input features once, not in every epoch; takes memory for all of them; not for GAT, GATV2 and TRANSFORMER, which project them first',
    ),
  ),
  use_mfgs: field(flag(), false, ours('compute only what the labelled nodes need')),
  timeout: field(
    number(0),
    1800,
    ours('seconds that an operation waits for living workers before the job ends; 0: for ever'),
  ),
  peer_timeout: field(
    number(0.1),
    60,
    ours('seconds without a sign of life after which a worker counts as dead and the job ends'),
  ),
  temporal: field(temporal, {}, ours('event streams')),
});

/** The `distributed` section where a file has none. */
export function defaultDistributed(): ReadonlyOutput<typeof distributedSchema> {
  return distributedSchema.parse({});
}

/** Null where a file has no such section; `{}` or true asks for its defaults. */
export function distributedSection() {
  return z.preprocess((value) => (value === true ? {} : value), distributedSchema.nullable());
}
