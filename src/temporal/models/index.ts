/** Models over batches of events, models in discrete time, and the registry of models for runs. */
export {
  ChebConv,
  type ChebConvOptions,
  EvolveGCN,
  type EvolveGCNOptions,
  GConvGRU,
  GConvLSTM,
  type Snapshot,
  type SnapshotKind,
  SnapshotModel,
  type SnapshotsOptions,
  snapshotKind,
  snapshotsOf,
  TGCN,
} from '../snapshots/index.js';
export { GeneralModel, type GeneralModelSizes } from './general-model.js';
export { type TemporalModelKind, temporalModelKind } from './model-kind.js';
export type { MemoryOutput, TemporalOutput } from './output.js';
export { registerTemporalModel } from './registry.js';
