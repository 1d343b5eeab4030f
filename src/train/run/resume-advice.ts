/** Adds to errors such as a lost device or a full disk how to resume from the last checkpoint. */
import { isMachineTrouble } from '../../storage/atomic-file.js';
import { DeviceError, type SkeinError, StorageError } from '../../util/errors.js';
import { resumeCommand } from './resume-command.js';

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
