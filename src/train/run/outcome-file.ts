/** The outcome of a finished run, `done.json`. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, FormatError } from '../../util/errors.js';

/** Returns the outcome of the run in a directory; null before its end. */
export function readOutcomeFile(directory: string): Readonly<Record<string, unknown>> | null {
  const path = join(directory, 'done.json');
  if (!existsSync(path)) return null;
  const fail = (got: string): never => {
    throw new FormatError(
      `${path}: expected the outcome of a run as a JSON object, got ${got}. Restore the file, or remove it to use the run as one that has not finished.`,
      { path },
    );
  };
  const value = parse(readFileSync(path, 'utf8'), fail);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : fail(describe(value));
}

function parse(text: string, fail: (got: string) => never): unknown {
  if (text.trim() === '') return fail('an empty file');
  try {
    return JSON.parse(text);
  } catch {
    return fail('a damaged file');
  }
}
