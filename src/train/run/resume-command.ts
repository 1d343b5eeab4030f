/** The command that goes on with a run, as it can be typed: told to whoever stopped one. */
import { invocation } from '../../util/invocation.js';

/** `workers`: how many trained it; any other number can go on too. */
export function resumeCommand(directory: string, workers = 1): string {
  const plain = /^[\w./:@%+,=-]+$/.test(directory);
  const shown = plain ? directory : `'${directory.replaceAll("'", "'\\''")}'`;
  const launch = workers === 1 ? '' : `run -n ${workers} `;
  return `${invocation()} ${launch}train ${shown} --training.resume_training=true`;
}
