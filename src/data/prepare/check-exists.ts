import { existsSync } from 'node:fs';
import { StorageError } from '../../util/errors.js';

/** Returns the path of an input; throws if there is none. */
export function checkExists(path: string): string {
  if (existsSync(path)) return path;
  throw new StorageError(`preprocess: expected to read ${path}, which does not exist. Check the path.`, {
    path,
  });
}
