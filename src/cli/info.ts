/** `skein info`: what computes on this machine. */
import { nativeStatus } from '../native/index.js';

export function info(version: string, json: boolean): void {
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
