/** Sampling on GPUs. */
export { GpuOneHopSampler } from './gpu-one-hop-sampler.js';
export { GPUSampler, type GPUSamplerOptions } from './gpu-sampler.js';
export { type GraphSampler, HostSampler } from './host-sampler.js';
export { MixedGraphSampler, type MixedGraphSamplerOptions, type MixedMode } from './mixed-graph-sampler.js';
export { MultiGPUSampler, type SharedSampler } from './multi-gpu-sampler.js';
export { type AdaptiveSampler, type OpenSamplerOptions, openSampler } from './open-sampler.js';
