/** The memory of a training step on the whole graph, planned before the first one. */

import { WorkerGroup } from '../../../../dist/index.js';
import { planMemoryOf } from '../../../../dist/shards/plan-memory.js';
import { randomState, setRandomState, type Tensor, zeros } from '../../../../tensor/index.js';
import { unscoped } from '../../../../tensor/scope.js';
import type { Model } from '../../graph/model/model.js';
import { type ShardedSet, shardedBatch } from './sharded-task.js';

/**
 * Returns the largest peak of all workers in bytes; `makeModel` makes a temporary model. Collective.
 *
 * @param width of trained rows; 0 without any.
 */
export function planStep(set: ShardedSet, width: number, group: WorkerGroup, makeModel: () => Model): number {
  const random = randomState();
  const graphs = set.layers.map(({ graph }) => graph);
  const { peakBytes } = planMemoryOf(graphs, (planned, comm) => {
    const model = makeModel();
    model.workers = new WorkerGroup({ comm });
    if (set.cached) planned[0]?.cacheInputs(set.features as Tensor);
    const layers = set.layers.map((layer, i) => ({ ...layer, graph: planned[i] }));
    // The second step includes the optimiser state.
    for (let step = 0; step < 2; step++) {
      const rows = width === 0 ? null : unscoped(() => zeros([set.inputRows.length, width]));
      const batch = shardedBatch({ ...set, layers }, rows, true, { epoch: 0, step });
      model.train(batch);
      batch.dispose();
    }
    if (set.cached) planned[0]?.uncacheInputs(set.features as Tensor);
  });
  setRandomState(random);
  return group.highest(peakBytes);
}
