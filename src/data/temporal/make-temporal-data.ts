/** Completes the data of an event file: the pool of destinations, and whether the graph is bipartite. */
import { distinctIds } from '../../temporal/event-stream.js';
import { shiftedNodes } from './event-nodes.js';
import type { EventArrays, TemporalData } from './temporal-data.js';

/** The fields that a reader returns; the others are derived. */
export type TemporalFields = Pick<TemporalData, 'name' | 'events' | 'numNodes'> &
  Partial<Omit<TemporalData, 'name' | 'events' | 'numNodes' | 'dstPool'>>;

export function makeTemporalData(fields: TemporalFields): TemporalData {
  const { events, numNodes } = fields;
  return {
    ...{ featureWidth: 0, labels: null, nodeLabels: null, nodeFeatures: null },
    ...{ typeNames: null, names: null, nodes: shiftedNodes(numNodes, 0) },
    bipartite: isBipartite(events, numNodes),
    ...fields,
    dstPool: distinctIds('readTemporal', events.dst, numNodes),
  };
}

/** Returns whether no node is both a source and a destination. */
function isBipartite({ src, dst }: EventArrays, numNodes: number): boolean {
  const isSource = new Uint8Array(numNodes);
  for (const node of src) isSource[node] = 1;
  return src.length > 0 && dst.every((node) => isSource[node] === 0);
}
