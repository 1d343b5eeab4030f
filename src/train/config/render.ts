/** A resolved configuration as YAML. Reading it again gives the same configuration, the seed included, with no warning. */
import { stringify } from 'yaml';
import type { SkeinConfig } from './types.js';

export function renderConfig(config: SkeinConfig): string {
  // Null means "not given" in every key that may be null, and reads back as such.
  return stringify(config, { lineWidth: 0, aliasDuplicateObjects: false });
}
