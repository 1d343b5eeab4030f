/** Layers over sampled events. */
export {
  type AttentionInput,
  TemporalAttentionLayer,
  type TemporalAttentionLayerOptions,
} from './attention-layer.js';
export { EdgePredictor, type ScoredRoots } from './edge-predictor.js';
export { IdentityLayer, JodieTimeLayer } from './identity-layer.js';
