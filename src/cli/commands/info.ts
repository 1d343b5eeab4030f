/** `skein info`: shows version, kernels and GPU of this machine; with a path, describes that (see ../info.ts). */
import type { Command } from 'commander';
import { DeviceError, ValueError } from '../../util/errors.js';
import { type JsonOptions, jsonOption, type OverrideOptions, overrideOption } from '../options/options.js';
import { version } from '../version.js';

interface InfoOptions extends JsonOptions, OverrideOptions {
  readonly gpu?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('info')
    .description(
      'Show the version and the kernels in use, or describe a run, a packed model, a search, a configuration, a dataset, partitions or an event file',
    )
    .argument(
      '[directory]',
      'Directory of a run, a checkpoint, a search, a prepared dataset or partitions, a packed model, a configuration or an event file',
    );
  command.option('--gpu', 'Open and show the GPU that storage.device_type: webgpu would use');
  overrideOption(jsonOption(command)).action(async (directory: string | undefined, options: InfoOptions) => {
    const misplaced = options.set.find((key) => directory === undefined || !key.startsWith('dataset.'));
    if (misplaced !== undefined)
      throw new ValueError(
        `info: expected --dataset.key=value with an event file, got --${misplaced}. Other keys have no effect here.`,
      );
    if (directory !== undefined && options.gpu)
      throw new ValueError('info: expected no directory with --gpu, got one. Leave one of them out.');
    if (directory === undefined) await printMachine(options);
    else {
      const { removingUnfinished } = await import('../stop-signals.js');
      const { infoCommand } = await import('../info.js');
      await removingUnfinished(() => infoCommand(directory, options.json, options.set));
    }
  });
}

async function printMachine({ json, gpu = false }: InfoOptions): Promise<void> {
  const { nativeStatus } = await import('../../native/index.js');
  const status = nativeStatus();
  const graphics = gpu ? await findAdapter() : null;
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
  const software = graphics?.software ? ' (software: slower than the CPU)' : '';
  const lines = [
    `skein ${version}`,
    `Node.js ${facts.node} on ${facts.platform}`,
    `kernels: ${kernels}`,
    `threads: ${status.threads}`,
    ...(gpu ? [`GPU: ${graphics === null ? 'no WebGPU adapter' : `${graphics.adapter}${software}`}`] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Returns the adapter that `storage.device_type: webgpu` would use; null if there is none. */
async function findAdapter(): Promise<{ readonly adapter: string; readonly software: boolean } | null> {
  const { adapterName, openGpuDevice } = await import('../../gpu/device/open-device.js');
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
