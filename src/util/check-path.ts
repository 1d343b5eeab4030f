/** Checks of paths before they reach the file system, whose own errors name neither the call nor the argument. */
import { expected, ValueError } from './errors.js';

/** Throws unless `value` can be a path: text that is not empty and has no NUL character. */
export function checkPath(where: string, what: string, name: string, value: unknown, advice = ''): string {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value;
  const reason =
    typeof value === 'string' && value !== '' ? 'A path cannot contain the character NUL (\\0).' : '';
  const end = [reason, advice].filter((part) => part !== '').join(' ');
  throw new ValueError(expected(where, what, name, value, end));
}
