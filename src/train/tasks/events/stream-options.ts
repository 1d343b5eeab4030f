/** How a configuration wants its file of events read, and the same from the keys of a command line alone. */
import { parse } from 'yaml';
import type { ReadTemporalOptions } from '../../../data/index.js';
import { resolveTemporalConfig } from './run-config.js';
import type { TemporalRunSections } from './schema.js';
import { temporalTemplate } from './temporal-template.js';

/** Columns that are not named are found by the reader. */
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

/** The options for `--dataset.key=value` as a run would have them. */
export function streamOptionsOf(path: string, overrides: readonly string[]): ReadTemporalOptions {
  return streamOptions(resolveTemporalConfig(parse(temporalTemplate({ path })), overrides).config);
}
