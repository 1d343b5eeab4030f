/** Configuration: schema, defaults, overrides, checks. */
export { checkAgainstDataset, type DatasetFacts, factsOf } from './check-dataset.js';
export { datasetFacts } from './dataset-facts.js';
export { type LoadedConfig, loadConfig, resolveConfig } from './load.js';
export { type ConfigFile, readConfigFile } from './read-yaml.js';
export { renderConfig } from './render.js';
export { learningRateFactor } from './schedule.js';
export { defaultDistributed } from './schema-distributed.js';
export { configTemplate, type TemplateOptions } from './template.js';
export type * from './types.js';
