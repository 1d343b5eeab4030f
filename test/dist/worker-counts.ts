/**
 * Numbers of workers for tests: few in the default suite, since every worker is a process on a machine with few cores.
 */
import { wide } from '../wide.js';

export function workerCounts(usual: readonly number[], more: readonly number[]): number[] {
  return wide(usual, more).sort((a, b) => a - b);
}
