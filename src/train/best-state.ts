/** Where the best state of a training is kept, and how it comes back. */
import type { Tensor } from '../tensor/index.js';
import { unscoped } from '../tensor/scope.js';
import type { FitState } from './fit.js';
import type { Durable, SavedState } from './task.js';

export interface BestKeeper {
  /** Keeps the state as it is now, in place of an earlier one. */
  keep(state: FitState): Promise<void>;
  /** Brings it back at the end of a training; false when the task has it already. */
  restore(state: FitState): Promise<boolean>;
  /** Gives the memory back. */
  release?(): void;
}

/** Keeps parameters and state as copies in memory, and not the optimiser: nothing is trained after the best state. */
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
      // Handles on the memory of the model, which would hold it on a device for good.
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
