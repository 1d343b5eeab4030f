/**
 * Inputs that take longer to generate than to measure. Every case of every round runs in a separate process, so the
 * first one that needs the input writes it to a folder of the benchmark run, and the others read it there.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The environment variable with the folder; without it, each process generates its inputs. */
export const keptFolderVariable = 'SKEIN_BENCH_KEPT';

/**
 * Returns the list of that name, generated at most once per run. The name must identify everything that the contents
 * depend on.
 */
export function kept(name: string, make: () => Int32Array): Int32Array {
  const folder = process.env[keptFolderVariable];
  if (folder === undefined) return make();
  const file = join(folder, name);
  if (existsSync(file)) {
    const { buffer, byteOffset, byteLength } = readFileSync(file);
    return new Int32Array(buffer, byteOffset, byteLength / Int32Array.BYTES_PER_ELEMENT);
  }
  const made = make();
  // A process that is stopped while it writes must not leave a truncated list under the final name.
  writeFileSync(`${file}.part`, made);
  renameSync(`${file}.part`, file);
  return made;
}
