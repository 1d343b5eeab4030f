/**
 * What `skein train` is given: a configuration file, or the directory of a run, which goes on with its own configuration.
 * A run that was moved goes on where it is now.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { checkRunConfig, isTemporalConfig } from '../train/index.js';
import { StateError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';

export interface TrainTarget {
  readonly file: string;
  /** Text that is kept with the run as its configuration. */
  readonly source: string;
  readonly overrides: readonly string[];
}

export function trainTarget(path: string, overrides: readonly string[]): TrainTarget {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    return { file: path, source: readFileSync(path, 'utf8'), overrides };
  }
  const file = join(path, 'full_config.yaml');
  if (!existsSync(file))
    throw new StateError(
      `train: expected a configuration file or the directory of a run, got ${path}, which has no full_config.yaml. Name a file; "${invocation()} config <dataset>" prints one to start from.`,
    );
  checkRunConfig(file);
  const given = join(path, 'config.yaml');
  // Whether to go on is said anew each time. The checkpoint that the run started from has no say any more.
  const own = [`storage.model_dir=${JSON.stringify(resolve(path))}`, 'training.resume_training=false'];
  if (!isTemporalConfig(file)) own.push('training.resume_from_checkpoint=""');
  const source = readFileSync(existsSync(given) ? given : file, 'utf8');
  return { file, source, overrides: [...own, ...overrides] };
}
