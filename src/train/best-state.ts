/** Keeping and restoring the best state of a training. */
import type { Tensor } from '../tensor/index.js';
import { unscoped } from '../tensor/scope.js';
import type { FitState } from './fit.js';
import type { Durable, SavedState } from './task.js';

export interface BestKeeper {
  /** Keeps the current state and drops the previous one. */
  keep(state: FitState): Promise<void>;
  /** Restores the kept state at the end of training. Returns false if the task has it already. */
  restore(state: FitState): Promise<boolean>;
  /** Releases memory. */
  release?(): void;
}

/** Copies parameters and state in memory. The optimiser is not kept, because nothing is trained afterwards. */
export function keepInMemory(task: Durable): BestKeeper {
  let parameters: Record<string, Tensor> | null = null;
  let saved: SavedState | null = null;
  const release = (): void => {
    for (const t of Object.values({ ...parameters, ...saved?.tensors })) t.dispose();
    parameters = saved = null;
  };
  return {
    async keep() {
      const { tensors, state } = await task.snapshot();
      const current = task.model.stateDict();
      release();
      parameters = copies(current);
      saved = { tensors: copies(tensors), state: structuredClone(state) };
      // These handles would keep the model's device memory alive.
      for (const t of Object.values(current)) t.dispose();
    },
    async restore() {
      if (parameters === null || saved === null) return false;
      task.model.loadStateDict(parameters);
      await task.restore(saved);
      return true;
    },
    release,
  };
}

function copies(tensors: Readonly<Record<string, Tensor>>): Record<string, Tensor> {
  return unscoped(() => Object.fromEntries(Object.entries(tensors).map(([name, t]) => [name, t.clone()])));
}
