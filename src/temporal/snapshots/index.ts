/** Models in discrete time, over sequences of graphs. */
export { ChebConv, type ChebConvOptions } from './cheb-conv.js';
export { EvolveGCN, type EvolveGCNOptions } from './evolve-gcn.js';
export { GConvGRU, GConvLSTM, type LSTMState } from './gcrn.js';
export { type SnapshotKind, snapshotKind } from './snapshot-kind.js';
export { SnapshotLinks, type SnapshotLinksOptions } from './snapshot-links.js';
export { SnapshotModel, type SnapshotStep } from './snapshot-model.js';
export { SnapshotState, type SnapshotStateOptions, type SnapshotView } from './snapshot-state.js';
export { type Snapshot, type SnapshotsOptions, snapshotsOf } from './snapshots-of.js';
export { TGCN } from './tgcn.js';
