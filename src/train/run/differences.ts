/** Where two descriptions differ, key by key, for messages: what was, and what is. */
import { isTree } from '../../util/schema/key-path.js';

/** Such as "memory.dim_out 16 in place of 100"; empty when they are alike. Both are plain values, as JSON has them. */
export function differences(was: unknown, is: unknown, path = ''): string[] {
  if (JSON.stringify(was) === JSON.stringify(is)) return [];
  const nested = (isTree(was) && isTree(is)) || isRecords(was, is);
  if (!nested) return [`${path} ${text(is)} in place of ${text(was)}`];
  const [before, after] = [was, is] as Record<string, unknown>[];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
    differences(before[key], after[key], path === '' ? key : `${path}.${key}`),
  );
}

/** Two lists of sections, of one length; lists of numbers are told as a whole. */
function isRecords(was: unknown, is: unknown): boolean {
  if (!Array.isArray(was) || !Array.isArray(is) || was.length !== is.length) return false;
  return [...was, ...is].every((part) => typeof part === 'object' && part !== null);
}

const text = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
