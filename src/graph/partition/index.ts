/**
 * Partitioning algorithms for plain graphs; `skein/graph` exports METIS, `skein/dist` and `skein/temporal` use all of
 * them.
 */
export { countByPartition } from './balance.js';
export { metisPartition, type Partition } from './metis.js';
export { placeByHash, placeByLdg, placeByMetis, placeRandomly } from './place-nodes.js';
export { type Assignment, placeBySpeed, type TimedEdges } from './speed.js';
