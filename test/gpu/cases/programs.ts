/**
 * Every WGSL program of the package compiles. Here with the compiler of the implementation, which browsers and Node.js
 * do not share; that programs fit their layouts is tested on the null back end, where that takes no time.
 */

import type { GpuDevice } from 'skein/gpu';
import { allPrograms } from '#internal/gpu/device/program.js';
import { ok } from './assert.js';
import type { GpuCase } from './case.js';

interface Compiler {
  createShaderModule(text: { readonly code: string }): {
    getCompilationInfo(): Promise<{
      readonly messages: Iterable<{
        readonly type: string;
        readonly message: string;
        readonly lineNum: number;
      }>;
    }>;
  };
}

async function acceptsAll(gpu: GpuDevice): Promise<void> {
  const failures: string[] = [];
  const compiler = gpu.raw as unknown as Compiler;
  for (const { name, code } of allPrograms()) {
    const { messages } = await compiler.createShaderModule({ code }).getCompilationInfo();
    for (const { type, message, lineNum } of messages)
      if (type === 'error') failures.push(`${name}, line ${lineNum}: ${message}`);
  }
  ok(allPrograms().length > 0, 'there are programs');
  ok(failures.length === 0, `all programs compile:\n${failures.join('\n')}`);
}

export const cases: readonly GpuCase[] = [{ group: 'Q', name: 'every program compiles', run: acceptsAll }];
