import { FormatError } from '../../util/errors.js';

/** Parses the JSON of a file in a prepared directory. */
export function parsePreparedJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FormatError(
      `${path}: expected JSON, got ${(error as Error).message}. Prepare the directory again.`,
      { path },
    );
  }
}
