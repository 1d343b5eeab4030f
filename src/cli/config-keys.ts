/** Keys of configurations by their last part: `num_epochs` is training.num_epochs. */
import { parse } from 'yaml';
import { configTemplate, resolveConfig } from '../train/config/index.js';
import { resolveTemporalConfig, temporalTemplate } from '../train/index.js';
import { leafPaths } from '../util/schema/key-path.js';

/** At most three keys that end in `name`, the shortest first: of a graph's configuration, else of an event stream's. */
export function configKeys(name: string): string[] {
  const graph = resolveConfig(parse(configTemplate({ dataset: 'any', task: 'LINK_PREDICTION' }))).config;
  const {
    modelFile,
    model: _,
    ...own
  } = resolveTemporalConfig(parse(temporalTemplate({ name: 'any' }))).config;
  const ending = (config: unknown): string[] =>
    leafPaths(config)
      .filter((key) => key.split('.').at(-1) === name && key.includes('.'))
      .sort((a, b) => a.split('.').length - b.split('.').length)
      .slice(0, 3);
  const found = ending(graph);
  return found.length > 0 ? found : ending({ ...own, ...modelFile });
}
