/** What the nodes of a stream are called: as in its files where these have names or ids with gaps, else by their numbers. */
import { IdentityNames, type NameTable } from '../prepare/name-table.js';
import type { TemporalData } from './temporal-data.js';

export function streamNames({ names, nodeIds, numNodes }: TemporalData): NameTable {
  if (names === null && nodeIds === undefined) return new IdentityNames(numNodes);
  const nameOf = (id: number): string => names?.[id] ?? String(nodeIds?.[id] ?? id);
  const numbers = new Map<string, number>();
  for (let id = 0; id < numNodes; id++) numbers.set(nameOf(id), id);
  return { size: numNodes, nameOf, idOf: (raw) => numbers.get(raw) };
}
