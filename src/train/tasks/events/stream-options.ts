/** Options for reading a file of events, from a configuration or from command-line keys alone. */
import { parse } from 'yaml';
import type { ReadTemporalOptions } from '../../../data/index.js';
import { resolveTemporalConfig } from './run-config.js';
import type { TemporalRunSections } from './schema.js';
import { temporalTemplate } from './temporal-template.js';

/** Returns the options of a configuration. The reader detects columns that are not named. */
export function streamOptions({ dataset }: Pick<TemporalRunSections, 'dataset'>): ReadTemporalOptions {
  const { format, sort, header, node_types: nodeTypes } = dataset;
  const given = Object.entries(dataset.columns).filter(([, value]) => value !== '' && value !== null);
  return {
    ...{ sort, ...(format === 'auto' ? {} : { format }) },
    ...(header === 'auto' ? {} : { header: header === 'true' }),
    ...(nodeTypes === null ? {} : { nodeTypes }),
    ...(given.length === 0 ? {} : { columns: Object.fromEntries(given) }),
  };
}

/** Returns the options that a run with these overrides (`--dataset.key=value`) would have. */
export function streamOptionsOf(path: string, overrides: readonly string[]): ReadTemporalOptions {
  return streamOptions(resolveTemporalConfig(parse(temporalTemplate({ path }, overrides)), overrides).config);
}
