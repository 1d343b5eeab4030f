/** Differences between two descriptions, key by key, for messages. */
import { isTree } from '../../util/schema/key-path.js';

/** Returns texts such as "memory.dim_out 16 in place of 100"; empty if there is no difference. Both are JSON values. */
export function differences(was: unknown, is: unknown, path = ''): string[] {
  if (JSON.stringify(was) === JSON.stringify(is)) return [];
  const nested = (isTree(was) && isTree(is)) || isRecords(was, is);
  if (!nested) return [`${path} ${text(is)} in place of ${text(was)}`];
  const [before, after] = [was, is] as Record<string, unknown>[];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
    differences(before[key], after[key], path === '' ? key : `${path}.${key}`),
  );
}

/** Returns whether both are lists of sections of equal length; lists of numbers are reported as a whole. */
function isRecords(was: unknown, is: unknown): boolean {
  if (!Array.isArray(was) || !Array.isArray(is) || was.length !== is.length) return false;
  return [...was, ...is].every((part) => typeof part === 'object' && part !== null);
}

const text = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
