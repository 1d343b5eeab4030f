/**
 * The argument of `skein train`: a configuration file, or the directory of a run, which resumes with its configuration.
 * A run that was moved resumes where it is now.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readConfigFile } from '../train/config/config-file.js';
import type { ConfigFile } from '../train/index.js';
import { checkRunConfig } from '../train/run/run-directory.js';
import { isPackedRun } from '../train/run/unpacked-run.js';
import { isTemporalConfig } from '../train/tasks/events/run-config.js';
import { StateError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';

export interface TrainTarget {
  readonly file: ConfigFile;
  /** Text that is saved with the run as its configuration. */
  readonly source: string;
  readonly overrides: readonly string[];
}

export function trainTarget(path: string, overrides: readonly string[]): TrainTarget {
  if (isPackedRun(path))
    throw new StateError(
      `train: expected a configuration file or the directory of a run, got ${path}: a packed model cannot be trained further. Resume the run that it was packed from.`,
    );
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    const file = readConfigFile(path);
    return { file, source: file.text, overrides };
  }
  const resolved = join(path, 'full_config.yaml');
  if (!existsSync(resolved))
    throw new StateError(
      `train: expected a configuration file or the directory of a run, got ${path}, which has no full_config.yaml. Give a file; "${invocation()} config <dataset>" prints one to start from.`,
    );
  checkRunConfig(resolved);
  const file = readConfigFile(resolved);
  const given = join(path, 'config.yaml');
  // Each call states whether to resume. The checkpoint that the run started from is ignored.
  const fixed = [`storage.model_dir=${JSON.stringify(resolve(path))}`, 'training.resume_training=false'];
  if (!isTemporalConfig(file)) fixed.push('training.resume_from_checkpoint=""');
  const source = existsSync(given) ? readFileSync(given, 'utf8') : file.text;
  return { file, source, overrides: [...fixed, ...overrides] };
}
