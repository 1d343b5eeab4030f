/** Check of the kernels: which addon is in use, and why not a better one. */
import { type Check, runProbe } from './check.js';

/** The result of `nativeStatus()`; fields that some builds do not have are optional. */
export interface KernelStatus {
  readonly backend: 'native' | 'reference';
  readonly level: string | null;
  readonly reason: string | null;
  readonly threads: number;
  readonly computes: boolean;
  readonly path?: string | null;
  readonly bestLevel?: string | null;
  readonly tried?: readonly { readonly place: string; readonly problem: string }[];
}

export async function checkKernels(skein: string): Promise<Check> {
  const answer = await runProbe('kernels');
  if (typeof answer === 'string')
    return {
      ...{ name: 'kernels', state: 'problem', needed: true },
      found: `the kernels do not start: ${answer}`,
      fix: `${skein} build, or set SKEIN_NATIVE=0 for the TypeScript kernels`,
    };
  return describeKernels(answer as unknown as KernelStatus, skein);
}

export function describeKernels(status: KernelStatus, skein: string): Check {
  const name = 'kernels';
  const details = { ...status };
  const threads = `${status.threads} ${status.threads === 1 ? 'thread' : 'threads'}`;
  if (!status.computes)
    return {
      name,
      state: 'problem',
      needed: true,
      found: 'the kernels compute wrong results',
      fix: `${skein} build`,
      details,
    };
  if (status.backend === 'native') {
    const file = status.path == null ? '' : `, ${status.path}`;
    const found = `native, level ${status.level}, ${threads}${file}`;
    if (
      status.bestLevel == null ||
      status.bestLevel === status.level ||
      process.env['SKEIN_NATIVE'] === status.level
    )
      return { name, state: 'ok', found, details };
    return {
      ...{ name, state: 'problem', details },
      found: `${found}; this processor can run level ${status.bestLevel}, which is not built`,
      fix: `${skein} build`,
    };
  }
  const disabled = process.env['SKEIN_NATIVE'] === '0';
  const tried = status.tried ?? [];
  const why = tried.map(({ place, problem }) => `${place}: ${problem}`).join('; ');
  const absent = tried.every(({ problem }) => problem === 'not installed' || problem === 'not built');
  return {
    ...{ name, state: absent ? 'missing' : 'problem', details },
    found: `TypeScript (much slower), ${threads}: ${why === '' ? status.reason : why}`,
    fix: disabled ? 'unset SKEIN_NATIVE' : `${skein} build`,
  };
}
