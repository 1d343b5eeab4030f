/** The token of a server, from a file or from the environment. It is never printed. */
import { readFileSync } from 'node:fs';
import { fromSystem, isSystemError } from '../storage/atomic-file.js';
import { ValueError } from '../util/errors.js';

/** Returns null without a token. */
export function readToken(command: string, tokenFile: string | undefined): string | null {
  const token = tokenFile === undefined ? process.env['SKEIN_TOKEN'] : readTokenFile(tokenFile);
  const text = token?.trim() ?? '';
  if (text !== '' && !/^[\x21-\x7e]+$/.test(text))
    throw new ValueError(`${command}: expected a token of printable characters without spaces, got others.`);
  if (text === '' && tokenFile !== undefined)
    throw new ValueError(`${command}: expected a token in ${tokenFile}, got an empty file.`);
  return text === '' ? null : text;
}

function readTokenFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw isSystemError(error) ? fromSystem(error, path) : error;
  }
}
