/**
 * The same for one of several workers. `exact`: batches are cut into a fixed number of chunks, so that every bit is the same
 * for any number of workers that divides it; judging needs no chunks, since a score depends on its own rows alone.
 * `stale_cache` and `local` trade that for fewer messages: events go to the worker that has their state.
 */
import {
  type Communicator,
  DistributedStore,
  divideByOwner,
  divideByPosition,
  NodeOwners,
  ReplicaStore,
  SeparateStore,
  type WorkerGroup,
  WorkerLoader,
  WorkerRuntime,
} from '../../../dist/index.js';
import { streamPartitioner } from '../../../dist/partition/partition-graph.js';
import type { Division } from '../../../dist/temporal/division.js';
import type { WorkerBatch } from '../../../dist/temporal/worker-loader.js';
import type { StreamSplit } from '../../../temporal/event-stream.js';
import type { PartitionAlgorithm } from '../../../temporal/index.js';
import { MailboxState } from '../../../temporal/mailbox/mailbox-state.js';
import type { StoreFactory } from '../../../temporal/mailbox/state-store.js';
import { partitionTemporal } from '../../../temporal/partition/partition-temporal.js';
import { ConfigError, expected, InternalError, markCollective } from '../../../util/errors.js';
import { defaultDistributed } from '../../config/schema-distributed.js';
import type { DistributedConfig } from '../../config/types.js';
import { partsOf, runtimeOptions, type TemporalAssembly } from './assemble.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

/** How workers share out events and state. */
interface Sharing {
  readonly train: Division;
  readonly judge: Division;
  readonly store: StoreFactory;
}

export function assembleWorkers(
  config: TemporalRunConfig,
  stream: OpenedStream,
  { comm }: WorkerGroup,
): TemporalAssembly<WorkerBatch> {
  const sharing = sharingOf(config, stream, comm);
  const { made, mailbox, optimizer, loaderOptions } = partsOf(config, stream, sharing.store);
  if ('steps' in made) throw new InternalError(`workers for a model of kind ${config.model.kind}`);
  const { model, state } = made;
  const mail = state instanceof MailboxState ? state.mailOptions : {};
  const loader = (part: StreamSplit | null): WorkerLoader => {
    const { graph, ...options } = loaderOptions(part);
    return new WorkerLoader(graph, {
      ...options,
      comm,
      division: part === 'train' ? sharing.train : sharing.judge,
    });
  };
  return {
    ...{ model, state, mailbox, optimizer },
    runtime: new WorkerRuntime({
      ...{ ...runtimeOptions(config), ...mail, model, mailbox, optimizer },
      ...{ comm, seed: config.training.random_seed },
    }),
    loaders: { train: loader('train'), validation: loader('validation'), test: loader('test') },
    wholeStream: loader(null),
  };
}

function sharingOf({ distributed }: TemporalRunConfig, stream: OpenedStream, comm: Communicator): Sharing {
  const { temporal, partition_algorithm } = distributed ?? defaultDistributed();
  switch (temporal.consistency) {
    case 'exact':
      return exactSharing(stream, comm, temporal.chunks);
    case 'stale_cache':
      return staleSharing(stream, comm, temporal);
    case 'local':
      return localSharing(stream, comm, partition_algorithm);
  }
}

/** Refuses chunks that workers cannot share, before anything is made. */
export function checkChunks({ distributed }: TemporalRunConfig, workers: number): void {
  const { consistency, chunks } = (distributed ?? defaultDistributed()).temporal;
  if (consistency !== 'exact') return;
  const refuse = (what: string, advice: string): never => {
    throw new ConfigError(expected('train', what, 'distributed.temporal.chunks', chunks, advice));
  };
  // Gradients are added in a tree that branches in two.
  if (2 ** Math.round(Math.log2(chunks)) !== chunks) refuse('a power of two', 'Use 1, 2, 4, 8 or 16.');
  if (chunks % workers !== 0)
    refuse(`a multiple of the ${workers} workers`, 'Take 1, 2, 4 or 8 workers; chunks are a power of two.');
}

function exactSharing({ graph }: OpenedStream, comm: Communicator, chunks: number): Sharing {
  const owners = NodeOwners.roundRobin(graph.numNodes, comm.size);
  return {
    train: divideByPosition(chunks, comm.size),
    judge: divideByPosition(comm.size, comm.size),
    store: (sizes, combine) => new DistributedStore(sizes, combine, { comm, owners }),
  };
}

/** The busiest nodes are on every worker, so that most events need no row of another. */
function staleSharing(
  stream: OpenedStream,
  comm: Communicator,
  { cosine_threshold, max_skip, shared_nodes }: DistributedConfig['temporal'],
): Sharing {
  const { owners, division, sharedNodes } = byParts(stream, comm, 'speed', shared_nodes);
  const settings = { sharedNodes, minDistance: cosine_threshold, maxSkip: max_skip };
  return {
    ...{ train: division, judge: division },
    store: (sizes, combine) => new ReplicaStore(sizes, combine, { comm, owners, ...settings }),
  };
}

function localSharing(
  stream: OpenedStream,
  comm: Communicator,
  algorithm: DistributedConfig['partition_algorithm'],
): Sharing {
  const algo = streamPartitioner(algorithm);
  if (algo === null)
    throw markCollective(
      new ConfigError(
        `distributed.partition_algorithm: expected one that cuts streams of events beside distributed.temporal.consistency local, got ${algorithm}. Use speed.`,
      ),
    );
  const { owners, division } = byParts(stream, comm, algo, 0);
  return {
    ...{ train: division, judge: division },
    store: (sizes, combine) => new SeparateStore(sizes, combine, { comm, owners }),
  };
}

/** Events and nodes by parts of the training events, which every worker makes for itself: they are the same. */
function byParts(
  { graph, split }: OpenedStream,
  comm: Communicator,
  algo: PartitionAlgorithm,
  hotRatio: number,
) {
  const { master, edgeOwner, sharedNodes } = partitionTemporal(graph, {
    ...{ algo, hotRatio, numParts: comm.size, trainEnd: split.trainEnd },
  });
  const owners = NodeOwners.fromPartitions(master, comm.size, comm.size);
  return { owners, sharedNodes, division: divideByOwner((row) => edgeOwner[row]) };
}
