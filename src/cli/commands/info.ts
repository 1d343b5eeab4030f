/** `skein info`: what computes on this machine; with a directory, what that is (see ../info.ts). */
import type { Command } from 'commander';
import { DeviceError, ValueError } from '../../util/errors.js';
import { type JsonOptions, jsonOption, type OverrideOptions, overrideOption } from '../options.js';
import { version } from '../version.js';

interface InfoOptions extends JsonOptions, OverrideOptions {
  readonly gpu?: boolean;
}

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
  command.option(
    '--gpu',
    'open the graphics processor that storage.device_type: webgpu would use, and show it',
  );
  overrideOption(jsonOption(command)).action(async (directory: string | undefined, options: InfoOptions) => {
    const misplaced = options.set.find((key) => directory === undefined || !key.startsWith('dataset.'));
    if (misplaced !== undefined)
      throw new ValueError(
        `info: expected --dataset.key=value beside a file of events, got --${misplaced}. Other keys say nothing here.`,
      );
    if (directory !== undefined && options.gpu)
      throw new ValueError('info: expected no directory beside --gpu, got one. Leave one of them out.');
    if (directory === undefined) await machine(options);
    else await (await import('../info.js')).infoCommand(directory, options.json, options.set);
  });
}

async function machine({ json, gpu = false }: InfoOptions): Promise<void> {
  const { nativeStatus } = await import('../../native/index.js');
  const status = nativeStatus();
  const graphics = gpu ? await adapter() : null;
  const facts = {
    version,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    ...status,
    ...(gpu ? { graphics } : {}),
  };
  if (json) {
    process.stdout.write(`${JSON.stringify({ event: 'done', ...facts })}\n`);
    return;
  }
  const kernels = status.backend === 'native' ? `native (${status.level})` : `TypeScript (${status.reason})`;
  const software = graphics?.software ? ' (software: slower than the cpu)' : '';
  const lines = [
    `skein ${version}`,
    `Node.js ${facts.node} on ${facts.platform}`,
    `kernels: ${kernels}`,
    `threads: ${status.threads}`,
    ...(gpu
      ? [`graphics: ${graphics === null ? 'no WebGPU adapter' : `${graphics.adapter}${software}`}`]
      : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** The adapter that `storage.device_type: webgpu` would use. */
async function adapter(): Promise<{ readonly adapter: string; readonly software: boolean } | null> {
  const { adapterName, openGpuDevice } = await import('../../gpu/index.js');
  try {
    const gpu = await openGpuDevice();
    const found = { adapter: adapterName(gpu.info), software: gpu.isSoftware };
    gpu.destroy();
    return found;
  } catch (error) {
    if (error instanceof DeviceError) return null;
    throw error;
  }
}
