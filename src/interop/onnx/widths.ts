/** Widths of the input and the output of a module, if known. */
import {
  GATConv,
  GATv2Conv,
  GCNConv,
  GINConv,
  GraphConv,
  LayeredModel,
  SAGEConv,
  SGConv,
} from '../../gnn/index.js';
import { BatchNorm1d, LayerNorm, Linear, MLP, type Module, Sequential } from '../../nn/index.js';

export interface Widths {
  /** null if any width is accepted, or unknown. */
  readonly input: number | null;
  readonly output: number | null;
}

const anyWidth: Widths = { input: null, output: null };

export function widthsOf(module: Module): Widths {
  if (module instanceof LayeredModel) {
    const { layers, lin } = module;
    const output = lin === null ? widthsOf(layers[layers.length - 1]).output : lin.outFeatures;
    return { input: widthsOf(layers[0]).input, output };
  }
  if (module instanceof MLP) return chainWidths(module.linears);
  if (module instanceof Sequential) return chainWidths(module.layers);
  if (module instanceof Linear) return { input: module.inFeatures, output: module.outFeatures };
  if (module instanceof LayerNorm || module instanceof BatchNorm1d)
    return { input: module.features, output: module.features };
  return convWidths(module);
}

function convWidths(layer: Module): Widths {
  if (layer instanceof GCNConv || layer instanceof SGConv) return widthsOf(layer.lin);
  if (layer instanceof SAGEConv) return widthsOf(layer.linL);
  if (layer instanceof GraphConv) return widthsOf(layer.linRel);
  if (layer instanceof GINConv) return widthsOf(layer.nn);
  if (layer instanceof GATConv || layer instanceof GATv2Conv) {
    const { inFeatures, outFeatures } = layer instanceof GATConv ? layer.lin : layer.linL;
    return { input: inFeatures, output: layer.concat ? outFeatures : outFeatures / layer.heads };
  }
  return anyWidth;
}

/** Returns the first known width from either end, since activations and dropout accept any width. */
function chainWidths(modules: readonly Module[]): Widths {
  const all = modules.map(widthsOf);
  return {
    input: all.find(({ input }) => input !== null)?.input ?? null,
    output: all.findLast(({ output }) => output !== null)?.output ?? null,
  };
}
