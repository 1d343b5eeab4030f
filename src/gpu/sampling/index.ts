/** Sampling on graphics processors. */
export { Adj } from './adj.js';
export type { CsrArrays, CsrLike, SourceOptions } from './csr-source.js';
export type { DeviceAdj } from './device-adj.js';
export type { DeviceSample } from './device-sample.js';
export { GPUSampler, type GPUSamplerOptions } from './gpu-sampler.js';
export type { HostSample } from './host-sample.js';
export { type Reindexed, reindexIds } from './reindex.js';
export { hashId, type TableKind } from './reindex-programs.js';
