/** Every WGSL program of the package compiles and fits its layout. Nothing is computed: the null back end will do. */
import { allPrograms, type GpuDevice, type GpuProgram } from 'skein/gpu';
import { ok } from './assert.js';
import type { GpuCase } from './case.js';

/** Records one dispatch with memory enough for any fixed-size binding; mistakes come at `finish`. */
async function compile(gpu: GpuDevice, program: GpuProgram): Promise<void> {
  const buffers = program.buffers.map((_, i) => gpu.buffer(1024, `${program.name} ${i}`));
  // What other cases left there could keep a loop going for ever.
  for (const buffer of buffers) gpu.clear(buffer);
  try {
    gpu.run(program, buffers, new Array<number>(program.params).fill(0), 1);
    await gpu.finish();
  } finally {
    for (const buffer of buffers) buffer.release();
  }
}

async function compilesAll(gpu: GpuDevice): Promise<void> {
  const failures: string[] = [];
  for (const program of allPrograms()) {
    try {
      await compile(gpu, program);
    } catch (error) {
      failures.push(`${program.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  ok(failures.length === 0, `all programs compile:\n${failures.join('\n')}`);
}

export const cases: readonly GpuCase[] = [
  { group: 'Q', name: 'every program compiles and fits its layout', run: compilesAll },
];
