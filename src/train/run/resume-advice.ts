/** How to resume a run: the command as it can be typed, and errors such as a lost device or a full disk with it. */
import { isMachineTrouble } from '../../storage/atomic-file.js';
import { DeviceError, type SkeinError, StorageError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import { loadedPlugins } from '../plugins.js';

/** Returns the error with the command that resumes the run, if `latest` finds a checkpoint in it. */
export async function withResumeAdvice(
  error: unknown,
  directory: string,
  latest: (directory: string) => Promise<unknown>,
): Promise<unknown> {
  const lost = error instanceof DeviceError && error.details.reason === 'lost';
  if (!lost && !isMachineTrouble(error)) return error;
  const { message, details } = error as SkeinError;
  // Without a readable checkpoint there is no advice.
  const saved = await latest(directory).catch(() => null);
  if (saved === null) return error;
  const text = `training: ${message} Resume from the last checkpoint with: ${resumeCommand(directory)}`;
  return lost
    ? new DeviceError(text, details, { cause: error })
    : new StorageError(text, details, { cause: error });
}

/** Returns the command that resumes a run. `workers` is the number that trained the run; any other number can resume it too. */
export function resumeCommand(directory: string, workers = 1): string {
  const shown = quoted(directory);
  const plugins = loadedPlugins().map((path) => ` --plugin ${quoted(path)}`);
  const launch = workers === 1 ? '' : `run -n ${workers} `;
  return `${invocation()} ${launch}train ${shown} --training.resume_training=true${plugins.join('')}`;
}

function quoted(path: string): string {
  return /^[\w./:@%+,=-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
