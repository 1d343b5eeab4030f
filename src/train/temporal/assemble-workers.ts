/**
 * The same for one of several workers. `exact`: batches are cut into a fixed number of chunks, so that every bit is the same
 * for any number of workers that divides it; judging needs no chunks, since a score depends on its own rows alone.
 */
import {
  DistributedStore,
  type Division,
  defaultChunks,
  divideByPlace,
  NodeOwners,
  type WorkerBatch,
  type WorkerGroup,
  WorkerLoader,
  WorkerRuntime,
} from '../../dist/index.js';
import type { StoreFactory, TemporalPart } from '../../temporal/index.js';
import { partsOf, type TemporalAssembly } from './assemble.js';
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
  const sharing = exactSharing(stream, comm);
  const { model, mailbox, optimizer, runtimeOptions, loaderOptions } = partsOf(config, stream, sharing.store);
  const loader = (part: TemporalPart | null): WorkerLoader => {
    const { graph, ...options } = loaderOptions(part);
    return new WorkerLoader(graph, {
      ...options,
      comm,
      division: part === 'train' ? sharing.train : sharing.judge,
    });
  };
  return {
    ...{ model, mailbox, optimizer },
    runtime: new WorkerRuntime({ ...runtimeOptions, comm, seed: config.training.random_seed }),
    loaders: { train: loader('train'), validation: loader('validation'), test: loader('test') },
    wholeStream: loader(null),
  };
}

function exactSharing({ graph }: OpenedStream, comm: WorkerGroup['comm']): Sharing {
  const owners = NodeOwners.inTurn(graph.numNodes, comm.size);
  return {
    train: divideByPlace(defaultChunks, comm.size),
    judge: divideByPlace(comm.size, comm.size),
    store: (sizes, combine) => new DistributedStore(sizes, combine, { comm, owners }),
  };
}
