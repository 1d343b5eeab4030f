/** Programs compiled for one device, each with its explicit layout. */
import { DeviceError } from '../../util/errors.js';
import type { GpuProgram } from './program.js';
import { computeStage, type GpuDeviceLike } from './webgpu-api.js';

export interface Compiled {
  readonly pipeline: object;
  readonly layout: object;
}

export class PipelineCache {
  readonly #device: GpuDeviceLike;
  readonly #compiled = new Map<GpuProgram, Compiled>();

  constructor(device: GpuDeviceLike) {
    this.#device = device;
  }

  get(program: GpuProgram): Compiled {
    const known = this.#compiled.get(program);
    if (known !== undefined) return known;
    const { maxStorageBuffersPerShaderStage: most } = this.#device.limits as {
      maxStorageBuffersPerShaderStage: number;
    };
    if (program.buffers.length > most)
      throw new DeviceError(
        `${program.name}: expected a device with ${program.buffers.length} storage buffers per program, got one with ${most}.`,
        { reason: 'limit' },
      );
    const compiled = compile(this.#device, program);
    this.#compiled.set(program, compiled);
    return compiled;
  }
}

function compile(device: GpuDeviceLike, program: GpuProgram): Compiled {
  const entries: object[] = program.buffers.map((access, i) => ({
    binding: i + 1,
    visibility: computeStage,
    buffer: { type: access === 'read' ? 'read-only-storage' : 'storage' },
  }));
  if (program.params > 0)
    entries.push({
      binding: 0,
      visibility: computeStage,
      buffer: { type: 'uniform', hasDynamicOffset: true, minBindingSize: program.params * 4 },
    });
  const layout = device.createBindGroupLayout({ entries });
  const pipeline = device.createComputePipeline({
    label: program.name,
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute: {
      module: device.createShaderModule({ label: program.name, code: program.code }),
      entryPoint: 'main',
    },
  });
  return { pipeline, layout };
}
