/** Layers of temporal models. */
export {
  type AttentionInput,
  TemporalAttentionLayer,
  type TemporalAttentionLayerOptions,
} from './attention-layer.js';
export {
  type AttentionEdges,
  type TemporalAttentionOptions,
  temporalAttention,
} from './attention-op.js';
