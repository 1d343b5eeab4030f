/** `skein info`: what computes on this machine; with a directory, what that is (see ../info.ts). */
import type { Command } from 'commander';
import { type JsonOptions, jsonOption } from '../options.js';
import { version } from '../version.js';

export function register(program: Command): void {
  const command = program
    .command('info')
    .description(
      'show the version and the kernels in use; of a run, a prepared dataset or events what they hold',
    )
    .argument(
      '[directory]',
      'the directory of a run, a checkpoint or a prepared dataset, or a file of events',
    );
  jsonOption(command).action(async (directory: string | undefined, options: JsonOptions) =>
    directory === undefined
      ? machine(options)
      : (await import('../info.js')).infoCommand(directory, options.json),
  );
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
