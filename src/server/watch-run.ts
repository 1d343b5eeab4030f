/** Looks whether a run has a newer model, by times and sizes of files. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Returns a text that changes when the model of a run or a checkpoint does; empty while a run is being trained. */
export async function fingerprint(path: string): Promise<string> {
  // fitLinks and its siblings put the run one level below.
  const [model, inner] = await Promise.all([
    mark(path, 'model.safetensors'),
    mark(path, 'run/model.safetensors'),
  ]);
  const folder = model === null && inner !== null ? join(path, 'run') : path;
  const [config, done] = await Promise.all([mark(folder, 'full_config.yaml'), mark(folder, 'done.json')]);
  const isUnfinished = config !== null && done === null;
  return isUnfinished ? '' : [model ?? inner, done].filter((part) => part !== null).join(' ');
}

async function mark(folder: string, name: string): Promise<string | null> {
  try {
    const { ino, mtimeMs, size } = await stat(join(folder, name));
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    // It is missing or is being replaced; the next look finds it.
    return null;
  }
}
