/** What a kind of run has when everything about its configuration is known to be right, before anything is written. */
import type { RunDirectory, RunSettings } from './run-directory.js';
import type { RunPlan } from './run-session.js';

export interface PreparedRun {
  /** Its directory. */
  readonly settings: Omit<RunSettings, 'source' | 'group'>;
  /** What is reported of it at the start. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Collective. */
  plan(run: RunDirectory): Promise<RunPlan>;
  close(): void;
}
