/** A run whose configuration has been checked and of which nothing has been written yet. */
import type { RunDirectory, RunSettings } from './run-directory.js';
import type { RunPlan } from './run-session.js';

export interface PreparedRun {
  /** Settings of its directory. */
  readonly settings: Omit<RunSettings, 'source' | 'group'>;
  /** Details reported at the start. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Collective. */
  plan(run: RunDirectory): Promise<RunPlan>;
  close(): void;
}
