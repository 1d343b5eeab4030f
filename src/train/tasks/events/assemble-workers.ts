/**
 * Assembles a temporal run on one of several workers. With consistency `exact`, batches are divided into a fixed number of
 * chunks, so that any number of workers that divides it gives the same bits; evaluation needs no chunks, because a score
 * depends on its own rows alone. `stale_cache` and `local` trade this for fewer messages: events go to the worker that holds
 * their state.
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
import { createComponents, frozenLoaders, type TemporalAssembly } from './assemble.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

/** The division of events among workers, and the store of their state. */
interface WorkDivision {
  readonly train: Division;
  readonly evaluation: Division;
  readonly store: StoreFactory;
}

export function assembleWorkers(
  config: TemporalRunConfig,
  stream: OpenedStream,
  { comm }: WorkerGroup,
): TemporalAssembly<WorkerBatch> {
  const divided = divideWork(config, stream, comm);
  const components = createComponents(config, stream, divided.store);
  const { made, mailbox, optimizer, loaderOptions, ignored, isScored, runtimeOptions } = components;
  if ('steps' in made) throw new InternalError(`workers for a model of kind ${config.model.kind}`);
  const { model, state } = made;
  const mail = state instanceof MailboxState ? state.mailOptions : {};
  const loader = (split: StreamSplit | null, frozen?: boolean): WorkerLoader => {
    const { graph, ...options } = loaderOptions(split, frozen);
    return new WorkerLoader(graph, {
      ...options,
      comm,
      division: split === 'train' ? divided.train : divided.evaluation,
    });
  };
  return {
    ...{ model, state, mailbox, optimizer },
    runtime: new WorkerRuntime({
      ...{ ...runtimeOptions, ...mail, model, mailbox, optimizer },
      ...{ comm, seed: config.training.random_seed },
    }),
    loaders: { train: loader('train'), validation: loader('validation'), test: loader('test') },
    wholeStream: loader(null),
    frozen: frozenLoaders(config, loader),
    ranking: null,
    ...{ ignored, isScored },
  };
}

function divideWork(
  { distributed }: TemporalRunConfig,
  stream: OpenedStream,
  comm: Communicator,
): WorkDivision {
  const { temporal, partition_algorithm } = distributed ?? defaultDistributed();
  switch (temporal.consistency) {
    case 'exact':
      return divideExactly(stream, comm, temporal.chunks);
    case 'stale_cache':
      return divideWithReplicas(stream, comm, temporal);
    case 'local':
      return divideLocally(stream, comm, partition_algorithm);
  }
}

/** Throws if the chunks cannot be divided among the workers. */
export function checkChunks({ distributed }: TemporalRunConfig, workers: number): void {
  const { consistency, chunks } = (distributed ?? defaultDistributed()).temporal;
  if (consistency !== 'exact') return;
  const reject = (what: string, advice: string): never => {
    throw new ConfigError(expected('train', what, 'distributed.temporal.chunks', chunks, advice));
  };
  // Gradients are added in a binary tree.
  if (2 ** Math.round(Math.log2(chunks)) !== chunks) reject('a power of two', 'Use 1, 2, 4, 8 or 16.');
  if (chunks % workers !== 0)
    reject(`a multiple of the ${workers} workers`, 'Use 1, 2, 4 or 8 workers; chunks are a power of two.');
}

function divideExactly({ graph }: OpenedStream, comm: Communicator, chunks: number): WorkDivision {
  const owners = NodeOwners.roundRobin(graph.numNodes, comm.size);
  return {
    train: divideByPosition(chunks, comm.size),
    evaluation: divideByPosition(comm.size, comm.size),
    store: (sizes, combine) => new DistributedStore(sizes, combine, { comm, owners }),
  };
}

/** Divides events by partitions. Nodes with the most events are replicated, so that most events need no remote row. */
function divideWithReplicas(
  stream: OpenedStream,
  comm: Communicator,
  { cosine_threshold, max_skip, shared_nodes }: DistributedConfig['temporal'],
): WorkDivision {
  const { owners, division, sharedNodes } = divideByPartitions(stream, comm, 'speed', shared_nodes);
  const settings = { sharedNodes, minDistance: cosine_threshold, maxSkip: max_skip };
  return {
    ...{ train: division, evaluation: division },
    store: (sizes, combine) => new ReplicaStore(sizes, combine, { comm, owners, ...settings }),
  };
}

function divideLocally(
  stream: OpenedStream,
  comm: Communicator,
  algorithm: DistributedConfig['partition_algorithm'],
): WorkDivision {
  const algo = streamPartitioner(algorithm);
  if (algo === null)
    throw markCollective(
      new ConfigError(
        `distributed.partition_algorithm: expected an algorithm that partitions event streams with distributed.temporal.consistency local, got ${algorithm}. Use speed.`,
      ),
    );
  const { owners, division } = divideByPartitions(stream, comm, algo, 0);
  return {
    ...{ train: division, evaluation: division },
    store: (sizes, combine) => new SeparateStore(sizes, combine, { comm, owners }),
  };
}

/** Divides events and nodes by a partitioning of the training events. Every worker computes the same partitioning. */
function divideByPartitions(
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
