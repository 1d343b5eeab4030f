/**
 * Files that are being written under a temporary name. A command that fails or is told to stop removes them; programs
 * that embed the library keep their own signals.
 */
import { rmSync } from 'node:fs';

const unfinished = new Set<string>();

/** Remembers a file until it has its own name or is gone. */
export function fileBegun(path: string): void {
  unfinished.add(path);
}

export function fileFinished(path: string): void {
  unfinished.delete(path);
}

export function removeUnfinished(): void {
  for (const path of unfinished) rmSync(path, { force: true });
  unfinished.clear();
}
