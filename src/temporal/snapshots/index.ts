/** Models in discrete time, over sequences of graphs. */
export { ChebConv, type ChebConvOptions } from './cheb-conv.js';
export { EvolveGCN, type EvolveGCNOptions } from './evolve-gcn.js';
export { GConvGRU, GConvLSTM } from './gcrn.js';
export { type SnapshotKind, snapshotKind } from './snapshot-kind.js';

export { SnapshotModel } from './snapshot-model.js';

export { type Snapshot, type SnapshotsOptions, snapshotsOf } from './snapshots-of.js';
export { TGCN } from './tgcn.js';
