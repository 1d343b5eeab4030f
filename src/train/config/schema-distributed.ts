/**
 * Schema, defaults and documentation of the `distributed` section, which configures runs with several workers. It is the
 * same for link prediction, node classification and event streams. It does not set the number of workers: the launcher
 * does (`skein run -n 4`), so that one file works on every machine.
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
    ours('node memory on other workers: as of the last batch, as last sent, or not read at all'),
  ),
  chunks: field(
    integer(1),
    8,
    ours(
      'exact: number of chunks of a batch in which gradients are computed, a power of two; any number of workers that divides it gives the same bits; fewer chunks are faster',
    ),
  ),
  cosine_threshold: field(
    number(0, 2),
    0.3,
    ours('stale_cache: a row is sent when its cosine distance to the row last sent exceeds this'),
  ),
  max_skip: field(integer(0), 10, ours('stale_cache: a row is sent after it was skipped this many times')),
  shared_nodes: field(
    number(0, 1),
    0.1,
    ours(
      'stale_cache: fraction of the nodes, those with the most events, that are replicated on every worker',
    ),
  ),
});

const distributedSchema = section({
  mode: field(
    choice(['sar', 'sa', 'one_shot'], { one_shot_aggregation: 'one_shot' }),
    'sar',
    ours(
      'whole-graph layers: fetch rows again in the backward pass (sar), keep fetched rows (sa), or fetch all rows in one exchange (one_shot); in this order memory rises and communication falls',
    ),
  ),
  pipeline_depth: field(integer(0), 1, ours('number of shards fetched ahead')),
  max_collective_size: field(size(0), 0, ours('largest single exchange, for example 64M; 0: no limit')),
  compression: field(
    choice(['none', 'f16', 'bf16', 'int8'], { float16: 'f16', bfloat16: 'bf16' }),
    'none',
    ours(
      'compression of transferred rows; all but none round, and the rounding error is added to the next transfer',
    ),
  ),
  partitions: field(
    integer(1, 2 ** 20),
    8,
    ours(
      'number of partitions of the graph, or of the node table and each of its partitions; at least the number of workers, and independent of it, so that results do not depend on it',
    ),
  ),
  partition_algorithm: field(choice(graphPartitioners), 'metis', ours('partitioning algorithm')),
  partition_dir: field(
    text('a directory of skein partition').nullable(),
    null,
    ours('existing partitions of the graph', 'partitioned at the start'),
  ),
  features: field(
    choice(['auto', 'spread', 'replicated']),
    'auto',
    ours(
      'mini-batches with storage.features.type HOST_MEMORY: every worker holds a range of the rows and fetches others from their workers (spread), or holds all rows (replicated); auto: spread above 1 GiB; results are the same',
    ),
  ),
  edges: field(
    choice(['auto', 'spread', 'replicated']),
    'auto',
    ours(
      'mini-batches: every worker holds a shard of the training edges and fetches others from their workers (spread), or holds all edges (replicated); auto: spread if a copy takes more than 1 GiB; results are the same',
    ),
  ),
  cache_inputs: field(
    flag(),
    false,
    ours(
      'fetch rows of the input features once instead of in every epoch, and keep them in memory; no effect for GAT, GATV2 and TRANSFORMER, which project features before the exchange',
    ),
  ),
  use_mfgs: field(
    flag(),
    false,
    ours('compute only the rows that the labelled nodes need (message-flow graphs)'),
  ),
  timeout: field(
    number(0),
    1800,
    ours('seconds that an operation waits for live workers before the job ends; 0: no limit'),
  ),
  peer_timeout: field(
    number(0.1),
    60,
    ours('seconds without a heartbeat after which a worker is considered dead and the job ends'),
  ),
  temporal: field(temporal, {}, ours('event streams')),
});

/** Returns the `distributed` section of a file without one. */
export function defaultDistributed(): ReadonlyOutput<typeof distributedSchema> {
  return distributedSchema.parse({});
}

/** Returns the schema of the section: null if absent, its defaults for `{}` or true. */
export function distributedSection() {
  return z.preprocess((value) => (value === true ? {} : value), distributedSchema.nullable());
}
