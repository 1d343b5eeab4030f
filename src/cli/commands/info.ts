/** `skein info`: what computes on this machine; with a directory, what that is (see ../info.ts). */
import type { Command } from 'commander';
import { ValueError } from '../../util/errors.js';
import { type JsonOptions, jsonOption, type OverrideOptions, overrideOption } from '../options.js';
import { version } from '../version.js';

type InfoOptions = JsonOptions & OverrideOptions;

export function register(program: Command): void {
  const command = program
    .command('info')
    .description(
      'show the version and the kernels in use; of a run, a prepared dataset, partitions or events what they hold',
    )
    .argument(
      '[directory]',
      'the directory of a run, a checkpoint, a prepared dataset or partitions, or a file of events',
    );
  overrideOption(jsonOption(command)).action(async (directory: string | undefined, options: InfoOptions) => {
    const strange = options.set.find((key) => directory === undefined || !key.startsWith('dataset.'));
    if (strange !== undefined)
      throw new ValueError(
        `info: expected --dataset.key=value beside a file of events, got --${strange}. Other keys say nothing here.`,
      );
    if (directory === undefined) await machine(options);
    else await (await import('../info.js')).infoCommand(directory, options.json, options.set);
  });
}

async function machine({ json }: JsonOptions): Promise<void> {
  const { nativeStatus } = await import('../../native/index.js');
  const status = nativeStatus();
  const facts = {
    version,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    ...status,
  };
  if (json) {
    process.stdout.write(`${JSON.stringify({ event: 'done', ...facts })}\n`);
    return;
  }
  const kernels = status.backend === 'native' ? `native (${status.level})` : `TypeScript (${status.reason})`;
  process.stdout.write(
    `skein ${version}\nNode.js ${facts.node} on ${facts.platform}\nkernels: ${kernels}\nthreads: ${status.threads}\n`,
  );
}
