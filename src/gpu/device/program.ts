/**
 * Compute programs: WGSL with the bindings it expects, in a registry from which a test compiles every one.
 *
 * Group 0 holds all: binding 0 the parameters (a uniform `struct` of 32-bit words, absent when `params` is 0), then the
 * buffers in order. Layouts are explicit, because automatic ones leave out bindings that the code happens not to use.
 */
import { InternalError } from '../../util/errors.js';

export type Access = 'read' | 'write';

export interface GpuProgram {
  readonly name: string;
  readonly code: string;
  /** Access of each storage buffer; the first is binding 1. */
  readonly buffers: readonly Access[];
  /** 32-bit words of parameters, at most 64. */
  readonly params: number;
  /** Invocations per workgroup, as in the code. */
  readonly workgroup: number;
}

const known = new Map<string, GpuProgram>();

/** Registers a program. Its entry point is `main`. */
export function defineProgram(program: GpuProgram): GpuProgram {
  if (known.has(program.name)) throw new InternalError(`two programs are called ${program.name}`);
  if (program.params > 64) throw new InternalError(`${program.name} has more than 64 words of parameters`);
  known.set(program.name, program);
  return program;
}

/** All programs of the modules loaded so far. */
export function allPrograms(): readonly GpuProgram[] {
  return [...known.values()];
}

/** Binding declarations for WGSL: `declare('Params', ['read array<u32> offsets', 'write array<f32> out'])`. */
export function bindings(hasParams: boolean, buffers: readonly string[]): string {
  const lines = hasParams ? ['@group(0) @binding(0) var<uniform> p: Params;'] : [];
  for (const [i, text] of buffers.entries()) {
    const [access, type, name] = text.split(' ');
    const mode = access === 'read' ? 'read' : 'read_write';
    lines.push(`@group(0) @binding(${i + 1}) var<storage, ${mode}> ${name}: ${type};`);
  }
  return lines.join('\n');
}

/** Returns the bits of a 32-bit float, to pass it among parameters. */
export function f32Bits(value: number): number {
  scratchFloat[0] = value;
  return scratchWord[0];
}

const scratchFloat = new Float32Array(1);
const scratchWord = new Uint32Array(scratchFloat.buffer);

/** Workgroups per dimension that every device supports. */
export const maxGroups = 65535;

/** Returns the workgroups for n invocations; beyond one dimension's limit a second one is used (see `flatIndex`). */
export function grid(n: number, workgroup: number): readonly [number, number] {
  const groups = Math.max(1, Math.ceil(n / workgroup));
  if (groups <= maxGroups) return [groups, 1];
  const rows = Math.ceil(groups / maxGroups);
  return [Math.ceil(groups / rows), rows];
}

/**
 * WGSL: `flatIndex(id, groups, SIZE)` numbers the invocations of a grid of one or two dimensions, with `id` the builtin
 * global_invocation_id and `groups` the builtin num_workgroups.
 */
export const flatIndex = /* wgsl */ `
fn flatIndex(id: vec3<u32>, groups: vec3<u32>, size: u32) -> u32 {
  return id.y * groups.x * size + id.x;
}
`;
