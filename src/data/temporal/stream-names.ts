/** What the nodes of a stream are called in one list: as in its files; with `src:` or `dst:` where each side has its own. */
import type { NameTable } from '../prepare/name-table.js';
import type { TemporalData } from './temporal-data.js';

export function streamNames({ nodes }: Pick<TemporalData, 'nodes'>): NameTable {
  if (nodes.kind !== 'sides') return nodes;
  return {
    size: nodes.size,
    nameOf: (id) => `${nodes.sideOf(id)}:${nodes.nameOf(id)}`,
    idOf: (raw) => {
      const [, side, name] = /^(src|dst):(.*)$/s.exec(raw) ?? [];
      return side === undefined ? undefined : nodes.idOf(name, side as 'src' | 'dst');
    },
  };
}
