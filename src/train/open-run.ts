/** Opens a saved run for evaluation, queries or export. Nothing in its directory is written. */
import { ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkPackedConfig } from './check-packed-config.js';
import { checkRunPath, type FindRunOptions, type FoundRun, findRun } from './find-run.js';
import { isEventConfig } from './load-run-config.js';
import { loadPlugins } from './plugins.js';
import { isPackedRun, unpackRun } from './run/unpacked-run.js';
import { type OpenedEventRun, openEventRun } from './tasks/events/open-event-run.js';
import { type OpenedGraphRun, openGraphRun } from './tasks/graph/open-graph-run.js';

export interface OpenRunOptions extends FindRunOptions {
  readonly onWarning?: (message: string) => void;
  /** The required kind of run; throws for others. */
  readonly over?: 'graph' | 'events';
  /** Advice in the error for a run of another kind. */
  readonly advice?: string;
}

/** An opened run; `kind` distinguishes the two types. */
export type OpenedRun = OpenedGraphRun | OpenedEventRun;

/** Opens a run, one of its checkpoints, the run of a configuration file, or an archive of `skein pack`. */
export async function openRun(
  path: string,
  options: OpenRunOptions & { readonly over: 'graph' },
): Promise<OpenedGraphRun>;
export async function openRun(
  path: string,
  options: OpenRunOptions & { readonly over: 'events' },
): Promise<OpenedEventRun>;
export async function openRun(path: string, options?: OpenRunOptions): Promise<OpenedRun>;
export async function openRun(path: string, options: OpenRunOptions = {}): Promise<OpenedRun> {
  const { command = 'openRun', over, advice, onWarning, ...find } = options;
  checkOptionNames(command, options, {
    command: true,
    overrides: true,
    adapt: true,
    best: true,
    plugins: true,
    onWarning: true,
    over: true,
    advice: true,
  });
  checkRunPath(command, path);
  if (isPackedRun(path)) return openPacked(path, options);
  const found = await findRun(path, { command, ...find });
  const kind = isEventConfig(found.config) ? 'events' : 'graph';
  if (over !== undefined && over !== kind) {
    const names = { graph: 'run over a prepared graph', events: 'temporal run' };
    const end = advice === undefined ? '' : ` ${advice}`;
    throw new ValueError(`${command}: expected a ${names[over]}, got the ${names[kind]} ${path}.${end}`);
  }
  return openFound(found, command, onWarning);
}

/** Opens an archive of `packRun`. Closing the run removes what was unpacked. */
async function openPacked(path: string, options: OpenRunOptions): Promise<OpenedRun> {
  const unpacked = await unpackRun(path);
  try {
    await loadPlugins(options.plugins ?? [], options.command ?? 'openRun');
    checkPackedConfig(path, unpacked.directory);
    const run = await openRun(unpacked.directory, options);
    const close = async (): Promise<void> => {
      await run.close();
      await unpacked.remove();
    };
    return { ...run, close };
  } catch (error) {
    await unpacked.remove();
    throw error;
  }
}

async function openFound(
  found: FoundRun,
  command: string,
  onWarning?: (message: string) => void,
): Promise<OpenedRun> {
  const { config } = found;
  for (const warning of found.warnings) onWarning?.(warning);
  return isEventConfig(config)
    ? openEventRun({ ...found, config }, command)
    : openGraphRun({ ...found, config }, onWarning === undefined ? {} : { onWarning });
}
