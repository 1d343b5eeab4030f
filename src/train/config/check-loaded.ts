import { expected, ValueError } from '../../util/errors.js';
import type { SkeinConfig } from './types.js';

/** Throws unless the value has the sections of a loaded configuration. */
export function checkLoaded(where: string, config: SkeinConfig): void {
  if (config?.model === undefined || config.training === undefined)
    throw new ValueError(
      expected(where, 'a configuration', 'config', config, 'Load it with loadConfig or resolveConfig.'),
    );
}
