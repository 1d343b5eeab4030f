/**
 * Runs the probe that the argument names and prints one line of JSON. Runs in a separate process because what it loads may
 * crash or hang; check.ts detects that.
 */
import { createRequire } from 'node:module';

const probes: Readonly<Record<string, () => Promise<object>>> = {
  /** The kernels in use, after they have computed something. */
  async kernels() {
    const { kernels, nativeStatus } = await import('../../native/index.js');
    const values = new Float32Array(64);
    kernels().fill(values, values.length, 2);
    return { ...nativeStatus(), computes: values.every((value) => value === 2) };
  },

  /** METIS through the kernels, which return −1 if it is missing. */
  async metis() {
    const { kernels } = await import('../../native/index.js');
    // A path of four nodes in two partitions.
    const offsets = Int32Array.of(0, 1, 3, 5, 6);
    const neighbors = Int32Array.of(1, 0, 2, 1, 3, 2);
    const cut = kernels().metisPartition(offsets, neighbors, 4, 2, 1, new Int32Array(4));
    return { works: cut >= 0 };
  },

  async mpi() {
    const { loadMpi } = await import('../../dist/comm/load-mpi.js');
    try {
      loadMpi();
      return { loads: true };
    } catch (error) {
      const { cause } = error as Error;
      return {
        loads: false,
        problem: (cause instanceof Error ? cause.message : String(error)).split('\n')[0],
      };
    }
  },

  async gpu() {
    try {
      createRequire(import.meta.url).resolve('webgpu');
    } catch {
      return { installed: false };
    }
    const { adapterName, openGpuDevice } = await import('../../gpu/device/open-device.js');
    try {
      const gpu = await openGpuDevice();
      const found = { installed: true, adapter: adapterName(gpu.info), software: gpu.isSoftware };
      gpu.destroy();
      return found;
    } catch (error) {
      return { installed: true, problem: (error as Error).message.split('\n')[0] };
    }
  },

  async duckdb() {
    const name = '@duckdb/node-api';
    const { version } = (await import(name)) as { readonly version: () => string };
    return { version: version() };
  },
};

async function runGuarded(probe: () => Promise<object>): Promise<object> {
  try {
    return await probe();
  } catch (error) {
    return { failure: (error instanceof Error ? error.message : String(error)).split('\n')[0] };
  }
}

const answer = await runGuarded(probes[process.argv[2]]);
// Drivers may leave threads running, so the process exits once the result is written.
process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0));
