/** Looks whether a run or a packed model has changed, by times and sizes of files. */
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Returns a text that changes when the model of a run, a checkpoint or a packed file does; empty while a run is being
 * trained, and while there is no file.
 */
export async function fingerprint(path: string): Promise<string> {
  const found = await statOf(path);
  if (found?.isFile() === true) return mark(found);
  // fitLinks and its siblings put the run one level below.
  const [model, inner] = await Promise.all([
    statOf(path, 'model.safetensors'),
    statOf(path, 'run/model.safetensors'),
  ]);
  const folder = model === null && inner !== null ? join(path, 'run') : path;
  const [config, done] = await Promise.all([statOf(folder, 'full_config.yaml'), statOf(folder, 'done.json')]);
  const isUnfinished = config !== null && done === null;
  if (isUnfinished) return '';
  return [model ?? inner, done]
    .filter((one) => one !== null)
    .map(mark)
    .join(' ');
}

const mark = ({ ino, mtimeMs, size }: Stats): string => `${ino} ${mtimeMs} ${size}`;

/** Returns null for a file that is missing or is being replaced; the next look finds it. */
async function statOf(...path: readonly string[]): Promise<Stats | null> {
  try {
    return await stat(join(...path));
  } catch {
    return null;
  }
}
