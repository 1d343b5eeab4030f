/**
 * How much memory a program on a distributed graph will need, before it has any: the program itself, run without its data
 * (`dryRun`) and without its messages. Every worker plans for itself and nobody waits.
 */
import { dryRun, scope } from '../../tensor/index.js';
import type { CommArray, CommHandle, Communicator } from '../comm/communicator.js';
import type { DistributedGraph } from './distributed-graph.js';

export interface MemoryPlan {
  /** Bytes of tensors at the worst moment, beyond those that live already. */
  readonly peakBytes: number;
}

/**
 * The peak of `program` on this worker. It gets a graph and a communicator in place of the real ones, and must make what
 * it changes itself (a model, an optimiser): values are meaningless. Not collective.
 *
 * @example
 * const { peakBytes } = planMemory(graph, (planned, comm) => trainStep(makeModel(), planned, comm));
 */
export function planMemory<G extends DistributedGraph>(
  graph: G,
  program: (graph: G, comm: Communicator) => void,
): MemoryPlan {
  return planMemoryOf([graph], ([planned], comm) => program(planned, comm));
}

/** The plan for a model over several graphs, as message-flow graphs are. */
export function planMemoryOf<G extends DistributedGraph>(
  graphs: readonly G[],
  program: (graphs: readonly G[], comm: Communicator) => void,
): MemoryPlan {
  const [first] = graphs;
  if (first === undefined) return { peakBytes: 0 };
  const comm = silent(first.link.comm);
  const twins = new Map([...new Set(graphs)].map((graph) => [graph, graph.withComm(comm)] as const));
  const planned = graphs.map((graph) => twins.get(graph) as G);
  const { peakBytes } = dryRun(() => scope(() => program(planned, comm)));
  return { peakBytes };
}

const done: CommHandle = { done: true, wait() {}, promise: () => Promise.resolve() };

/** A communicator of the same rank and size in which every message is there at once and says nothing. */
function silent(real: Communicator): Communicator {
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
  for (const name of handles) (answers as Record<string, unknown>)[name] = () => done;
  return new Proxy(real, {
    get: (_target, name) => (typeof name === 'string' && name in answers ? answers[name] : () => undefined),
  });
}
