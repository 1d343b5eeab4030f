/** The work of `skein pack`: one file with a trained model and what it needs to answer. */
import { existsSync } from 'node:fs';
import { runPath } from '../predict/open-model.js';
import { Output } from '../train/index.js';
import { checkUnpacked, packRun } from '../train/pack-run.js';
import { StorageError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import { formatSize } from '../util/size.js';
import type { OverrideOptions, PluginOptions } from './options/options.js';

export interface PackCommand extends PluginOptions, OverrideOptions {
  readonly output: string;
  readonly overwrite: boolean;
  readonly json: boolean;
}

export async function packCommand(path: string, command: PackCommand): Promise<void> {
  const output = new Output({ json: command.json });
  checkUnpacked('pack', path);
  if (existsSync(command.output) && !command.overwrite)
    throw new StorageError(
      `pack: expected a new file for --output, got ${command.output}, which exists. Choose another, or replace it with --overwrite.`,
      { path: command.output },
    );
  const packing = output.stage(`packing ${path}`);
  const packed = await packRun(runPath(path), command.output, {
    ...{ command: 'pack', overrides: command.set, plugins: command.plugin },
  });
  packing.end();
  const { file, kind, bytes, unpacked } = packed;
  output.text(`wrote ${file}: a model of ${kind}, ${formatSize(bytes)}, ${formatSize(unpacked)} unpacked`);
  output.text(`serve it with: ${invocation()} serve ${command.output}`);
  output.event('done', { ...packed });
}
