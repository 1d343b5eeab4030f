/** Opens a WebGPU device once, so that tests that need one can be skipped with the reason if there is none. */
import { root, run } from './steps.mjs';

const program = `
import { openGpuDevice } from 'skein/gpu';
try {
  (await openGpuDevice()).destroy();
} catch (error) {
  console.log('none: ' + error.message.split('\\n')[0]);
}`;

/** @param {import('vitest/node').TestProject} project */
export default function setup(project) {
  const { code, output } = run(process.execPath, ['--input-type=module', '--eval', program], { cwd: root });
  const reason = /^none: (.*)$/m.exec(output)?.[1];
  if (code !== 0)
    throw new Error(`probe-gpu: the search for a WebGPU adapter ended with ${code}:\n${output}`);
  // Parentheses end a reason in the name of a skipped test.
  project.provide('withoutGpu', reason?.replace(/[()]/g, '') ?? '');
}
