/** What the nodes of a stream are called in one list: as in its files; by number where its sides have names of their own. */
import { IdentityNames, type NameTable } from '../prepare/name-table.js';
import type { TemporalData } from './temporal-data.js';

export function streamNames({ nodes }: Pick<TemporalData, 'nodes'>): NameTable {
  return nodes.kind === 'sides' ? new IdentityNames(nodes.size) : nodes;
}
