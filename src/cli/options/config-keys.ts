/** Finds configuration keys by their last component: training.num_epochs for `num_epochs`. */
import { parse } from 'yaml';
import { resolveConfig } from '../../train/config/index.js';
import { configTemplate } from '../../train/config/template.js';
import { resolveTemporalConfig } from '../../train/index.js';
import { temporalTemplate } from '../../train/tasks/events/temporal-template.js';
import { leafPaths } from '../../util/schema/key-path.js';

/**
 * Returns at most three keys that end in `name`, the shortest first: keys of a graph run's configuration, or of a temporal
 * run's if there are none.
 */
export function findConfigKeys(name: string): string[] {
  const graph = resolveConfig(parse(configTemplate({ dataset: 'any', task: 'LINK_PREDICTION' }))).config;
  const {
    modelFile,
    model: _,
    ...own
  } = resolveTemporalConfig(parse(temporalTemplate({ name: 'any' }, ['model=general']))).config;
  const ending = (config: unknown): string[] =>
    leafPaths(config)
      .filter((key) => key.split('.').at(-1) === name && key.includes('.'))
      .sort((a, b) => a.split('.').length - b.split('.').length)
      .slice(0, 3);
  const found = ending(graph);
  return found.length > 0 ? found : ending({ ...own, ...modelFile });
}
