/**
 * Estimates the memory of a program on a distributed graph before it is allocated, by running the program itself
 * without its data (`dryRun`) and without its messages. Every worker plans separately, without waiting.
 */
import { dryRun, scope } from '../../tensor/index.js';
import { completedHandle } from '../comm/comm-checks.js';
import type { CommArray, Communicator } from '../comm/communicator.js';
import type { DistributedGraph } from './distributed-graph.js';

export interface ShardMemoryPlan {
  /** Peak bytes of tensors, in addition to those that exist already. */
  readonly peakBytes: number;
}

/**
 * Returns the peak of `program` on this worker. The program gets a substitute graph and communicator, and must create
 * what it changes (a model, an optimiser) itself: values are meaningless. Not collective.
 *
 * @example
 * const { peakBytes } = planShardMemory(graph, (planned, comm) => trainStep(makeModel(), planned, comm));
 */
export function planShardMemory<G extends DistributedGraph>(
  graph: G,
  program: (graph: G, comm: Communicator) => void,
): ShardMemoryPlan {
  return planMemoryOf([graph], ([planned], comm) => program(planned, comm));
}

/** Plans the memory of a model over several graphs, such as message-flow graphs. */
export function planMemoryOf<G extends DistributedGraph>(
  graphs: readonly G[],
  program: (graphs: readonly G[], comm: Communicator) => void,
): ShardMemoryPlan {
  const [first] = graphs;
  if (first === undefined) return { peakBytes: 0 };
  const comm = silentCommunicator(first.link.comm);
  const twins = new Map([...new Set(graphs)].map((graph) => [graph, graph.withComm(comm)] as const));
  const planned = graphs.map((graph) => twins.get(graph) as G);
  const { peakBytes } = dryRun(() => scope(() => program(planned, comm)));
  return { peakBytes };
}

/** Returns a communicator of the same rank and size in which every message is empty and arrives immediately. */
function silentCommunicator(real: Communicator): Communicator {
  const { rank, size } = real;
  const answers: Readonly<Record<string, unknown>> = {
    kind: real.kind,
    rank,
    size,
    capabilities: 'capabilities' in real ? real.capabilities : undefined,
    allGather: (data: CommArray) => Array.from({ length: size }, () => data),
    allToAllv: (parts: readonly CommArray[]) =>
      parts.map((part, q) => (q === rank ? part : part.slice(0, 0))),
  };
  const handles = ['isend', 'irecv', 'allReduceAsync', 'exchange', 'getRows', 'putRows', 'addRows'];
  for (const name of handles) (answers as Record<string, unknown>)[name] = () => completedHandle;
  return new Proxy(real, {
    get: (_target, name) => (typeof name === 'string' && name in answers ? answers[name] : () => undefined),
  });
}
