/** Whether the encoder of a configuration uses the weights of edges. */
import { getConvType } from '../../gnn/conv/conv-registry.js';
import type { SkeinConfig } from './types.js';

export function weighsEdges({ model }: Pick<SkeinConfig, 'model'>): boolean {
  return model.encoder.layers
    .flat()
    .some((layer) => layer.type === 'GNN' && getConvType(layer.options.type).weighsEdges === true);
}
