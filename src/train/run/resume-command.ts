/** The command that resumes a run, as it can be typed; printed when a run is stopped. */
import { invocation } from '../../util/invocation.js';
import { loadedPlugins } from '../plugins.js';

/** Returns the command. `workers` is the number that trained the run; any other number can resume it too. */
export function resumeCommand(directory: string, workers = 1): string {
  const shown = quoted(directory);
  const plugins = loadedPlugins().map((path) => ` --plugin ${quoted(path)}`);
  const launch = workers === 1 ? '' : `run -n ${workers} `;
  return `${invocation()} ${launch}train ${shown} --training.resume_training=true${plugins.join('')}`;
}

function quoted(path: string): string {
  return /^[\w./:@%+,=-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
