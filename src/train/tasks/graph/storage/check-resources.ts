/**
 * Throws for configurations that this machine cannot run, before they fill its disk or memory: a node table or a batch that
 * does not fit.
 */
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { ConfigError } from '../../../../util/errors.js';
import { formatSize } from '../../../../util/size.js';
import type { SkeinConfig } from '../../../config/index.js';
import { bufferConfig } from './initialize-table.js';
import { batchBytes, tableRowBytes } from './memory-budget.js';

interface TablePlace {
  /** Nodes whose rows a process stores. */
  readonly held: number;
  /** Nodes whose rows all processes write into the directory. */
  readonly written: number;
  readonly directory: string;
}

export async function checkResources(
  config: SkeinConfig,
  { held, written, directory }: TablePlace,
): Promise<void> {
  const memory = totalmem();
  const table = held * tableRowBytes(config);
  if (bufferConfig(config) === null && table > 0.9 * memory)
    throw new ConfigError(
      `model.encoder: expected a node table that fits in memory (${formatSize(memory)}), got ${formatSize(table)}. Set storage.memory_budget, for example to ${formatSize(Math.floor(memory / 2))}, or lower output_dim.`,
    );
  const batch = batchBytes(config);
  if (batch > memory / 2)
    throw new ConfigError(
      `training: expected batches that fit in memory (${formatSize(memory)}), got about ${formatSize(batch)} each. Lower training.batch_size, or negatives_per_positive or num_chunks of training.negative_sampling.`,
    );
  let place = resolve(directory);
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  const { bavail, bsize } = await statfs(place);
  const files = written * tableRowBytes(config);
  if (files > bavail * bsize)
    throw new ConfigError(
      `storage.model_dir: expected room for a node table of ${formatSize(files)}, got ${formatSize(bavail * bsize)} free in ${place}. Choose another place, or lower output_dim.`,
    );
}
