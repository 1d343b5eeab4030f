/** Layers over sampled events. */
export { TemporalAttentionLayer, type TemporalAttentionLayerOptions } from './attention-layer.js';
export { EdgePredictor } from './edge-predictor.js';
export { IdentityLayer, JodieTimeLayer } from './identity-layer.js';
