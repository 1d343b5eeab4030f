/** `skein info`: what computes on this machine. */
import type { Command } from 'commander';
import { type JsonOptions, jsonOption } from '../options.js';
import { version } from '../version.js';

export function register(program: Command): void {
  jsonOption(program.command('info').description('show the version, the kernels in use and why')).action(
    info,
  );
}

async function info({ json }: JsonOptions): Promise<void> {
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
