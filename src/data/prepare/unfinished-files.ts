/**
 * Files that are being written under a temporary name, and temporary folders. A command that fails or is stopped removes them; the library
 * installs no signal handlers itself.
 */
import { rmSync } from 'node:fs';

const unfinished = new Set<string>();

/** Records a file or a folder until it has its final name or is removed. */
export function trackUnfinished(path: string): void {
  unfinished.add(path);
}

export function untrackFinished(path: string): void {
  unfinished.delete(path);
}

export function removeUnfinished(): void {
  for (const path of unfinished) rmSync(path, { recursive: true, force: true });
  unfinished.clear();
}
