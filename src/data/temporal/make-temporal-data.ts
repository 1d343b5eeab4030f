/** Puts the parts of event files together: order of time, the pool of destinations, which side a node is on. */
import { distinctIds } from '../../temporal/event-stream.js';
import { shiftedNodes } from './event-nodes.js';
import type { EventArrays, TemporalData } from './temporal-data.js';

/** What a reader found; the rest follows from it. */
export type TemporalParts = Pick<TemporalData, 'name' | 'events' | 'numNodes'> &
  Partial<Omit<TemporalData, 'name' | 'events' | 'numNodes' | 'dstPool'>>;

export function makeTemporalData(parts: TemporalParts): TemporalData {
  const { events, numNodes } = parts;
  return {
    ...{ featureWidth: 0, labels: null, nodeLabels: null, nodeFeatures: null },
    ...{ typeNames: null, names: null, nodes: shiftedNodes(numNodes, 0) },
    bipartite: isBipartite(events, numNodes),
    ...parts,
    dstPool: distinctIds('readTemporal', events.dst, numNodes),
  };
}

/** Whether no node is both a source and a destination. */
function isBipartite({ src, dst }: EventArrays, numNodes: number): boolean {
  const isSource = new Uint8Array(numNodes);
  for (const node of src) isSource[node] = 1;
  return src.length > 0 && dst.every((node) => isSource[node] === 0);
}
