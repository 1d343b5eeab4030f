/** Sampling on GPUs. */
export { Adj } from './adj.js';
export type { CsrLike } from './csr-source.js';
export type { DeviceSample } from './device-sample.js';
export { GpuOneHopSampler } from './gpu-one-hop-sampler.js';
export { GPUSampler, type GPUSamplerOptions } from './gpu-sampler.js';
export type { HostSample } from './host-sample.js';
export { type GraphSampler, HostSampler } from './host-sampler.js';
export {
  type Engine,
  type EngineLoad,
  type MixedBatch,
  MixedGraphSampler,
  type MixedGraphSamplerOptions,
  type MixedMode,
} from './mixed-graph-sampler.js';
export { MultiGPUSampler, type SharedSampler } from './multi-gpu-sampler.js';
export { type AdaptiveSampler, type OpenSamplerOptions, openSampler } from './open-sampler.js';
