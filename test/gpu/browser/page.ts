/**
 * The script of the test page: the cases of ../cases and those that only make sense in a browser, on one device per
 * page. The driver (chromium.ts) calls `skeinPage.run(i)` and gets the message of the failure, or null.
 */
import { type GpuDevice, openGpuDevice } from 'skein/gpu';
import { browserCases } from './cases.js';

let device: Promise<GpuDevice> | null = null;

async function run(index: number): Promise<string | null> {
  try {
    device ??= openGpuDevice();
    await browserCases[index].run(await device);
    return null;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

Object.assign(globalThis, { skeinPage: { run } });
