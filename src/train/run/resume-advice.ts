/** A lost device or a full disk costs nothing that the last checkpoint has: the error says how to resume from it. */
import { isMachineTrouble } from '../../storage/atomic-file.js';
import { DeviceError, type SkeinError, StorageError } from '../../util/errors.js';
import { resumeCommand } from './resume-command.js';

/** The error, with the command that resumes the run where `latest` finds a checkpoint in it. */
export async function withResumeAdvice(
  error: unknown,
  directory: string,
  latest: (directory: string) => Promise<unknown>,
): Promise<unknown> {
  const lost = error instanceof DeviceError && error.details.reason === 'lost';
  if (!lost && !isMachineTrouble(error)) return error;
  const { message, details } = error as SkeinError;
  // What cannot be read now is not worth advice.
  const saved = await latest(directory).catch(() => null);
  if (saved === null) return error;
  const text = `training: ${message} Resume from the last checkpoint with: ${resumeCommand(directory)}`;
  return lost
    ? new DeviceError(text, details, { cause: error })
    : new StorageError(text, details, { cause: error });
}
