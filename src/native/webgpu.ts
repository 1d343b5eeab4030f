/**
 * WebGPU in Node.js: loads the optional npm package `webgpu` and makes sure that it finds a driver.
 *
 * Where the machine has no Vulkan driver but Chromium, the software driver that Chromium carries is used; it never
 * replaces a driver that the machine or the user has set up. The object that the package's `create` returns must stay
 * referenced for the life of the process: it owns the library under all devices made from it, and collecting it crashes them.
 */

/** One WebGPU implementation, or why there is none. */
export type WebGpuResult =
  | { readonly gpu: unknown; readonly reason: null }
  | { readonly gpu: null; readonly reason: string };

const pinned = new Map<string, Promise<WebGpuResult>>();

const driverFolders = ['/usr/share/vulkan/icd.d', '/etc/vulkan/icd.d', '/usr/local/share/vulkan/icd.d'];
const softwareDrivers = [
  '/usr/lib/chromium/vk_swiftshader_icd.json',
  '/usr/lib/chromium-browser/vk_swiftshader_icd.json',
  '/opt/google/chrome/vk_swiftshader_icd.json',
];

/** @param flags of the package, such as `adapter=<name>` or `backend=null`. */
export async function loadWebGpu(flags: readonly string[]): Promise<WebGpuResult> {
  const builtin = globalThis.process?.getBuiltinModule;
  if (builtin === undefined) return { gpu: null, reason: 'this is not Node.js' };
  if (process.platform === 'linux') process.env.XDG_RUNTIME_DIR ??= builtin('node:os').tmpdir();
  if (!hasDriver()) useSoftwareDriver();
  const key = `${namedDriver()} ${flags.join(' ')}`;
  // Kept as a promise: two concurrent callers must not create two, of which one would be collected.
  let result = pinned.get(key);
  if (result === undefined) {
    result = createGpu(flags);
    pinned.set(key, result);
  }
  return result;
}

async function createGpu(flags: readonly string[]): Promise<WebGpuResult> {
  // The name is a variable so that bundlers for browsers leave it alone.
  const name = 'webgpu';
  try {
    const { create } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as {
      create(flags: readonly string[]): unknown;
    };
    return { gpu: create(flags), reason: null };
  } catch (error) {
    const cause = error instanceof Error ? error.message.split('\n')[0] : String(error);
    return { gpu: null, reason: `the npm package webgpu could not be loaded (${cause})` };
  }
}

/** The driver that the environment configures for the Vulkan loader. */
export function namedDriver(): string {
  return globalThis.process?.env?.VK_ICD_FILENAMES ?? '';
}

/**
 * Points the Vulkan loader to Chromium's software driver, for machines whose drivers are missing or find no device.
 * Must run on the main thread: a worker's environment is a copy that the loader does not see. Returns whether anything
 * changed; a driver that the user has named is never replaced.
 */
export function useSoftwareDriver(): boolean {
  const { platform, env } = process;
  if (platform !== 'linux' || env.VK_ICD_FILENAMES !== undefined || env.VK_DRIVER_FILES !== undefined)
    return false;
  const { existsSync } = process.getBuiltinModule('node:fs');
  const software = softwareDrivers.find((file) => existsSync(file));
  if (software === undefined) return false;
  env.VK_ICD_FILENAMES = software;
  return true;
}

function hasDriver(): boolean {
  const { existsSync, readdirSync } = process.getBuiltinModule('node:fs');
  return driverFolders.some(
    (folder) => existsSync(folder) && readdirSync(folder).some((file) => file.endsWith('.json')),
  );
}
