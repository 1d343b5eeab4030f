/**
 * Started by failures.test.ts without a WebGPU adapter: prints as JSON how opening a device fails, and the results of
 * samplers, feature tables and models without it.
 */
import { openGpuDevice } from 'skein/gpu';
import { DeviceError } from 'skein/util';
import { results } from './results.js';

async function openError(): Promise<object> {
  try {
    (await openGpuDevice()).destroy();
    return { name: 'none' };
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error;
    return { name: error.name, message: error.message, reason: error.details.reason };
  }
}

console.log(JSON.stringify({ error: await openError(), results: await results(null) }));
