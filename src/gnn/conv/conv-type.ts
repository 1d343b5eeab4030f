/**
 * A graph layer that a configuration can name: `options: { type: GAT, num_heads: 4 }` of an encoder's GNN layer. The
 * record is in the layer's file; `index.ts` lists all records, from which `train/config` makes the schema and the
 * documentation.
 */
import type { MessageGraph } from '../../graph/index.js';
import type { Module } from '../../nn/index.js';
import type { Tensor } from '../../tensor/index.js';
import type { Random } from '../../util/philox.js';
import {
  type ConfigType,
  flag,
  fraction,
  integer,
  type Settings,
  type ValuesOf,
} from '../../util/settings.js';

/** The widths and edges that a layer of an encoder is created for. The encoder adds the bias, so the layer has none. */
export interface ConvContext {
  /** Columns of the layer's input. */
  readonly inFeatures: number;
  /** Columns of its output. */
  readonly outFeatures: number;
  /** Draws the initial parameters. */
  readonly random: Random;
  /** 0 if edges have no relation. */
  readonly numRelations: number;
  /** Whether it aggregates over incoming edges. */
  readonly incoming: boolean;
  readonly outgoing: boolean;
}

/** Reason why the options of a layer do not fit its width. */
export interface ConvProblem {
  /** The expected `output_dim`. */
  readonly expected: string;
  readonly advice: string;
}

export interface ConvType<N extends string = string, S extends Settings = Settings, L extends Module = Module>
  extends ConfigType<N, S> {
  /** Checks that the options fit the columns of the output and the input. */
  readonly check?: (options: ValuesOf<S>, outFeatures: number, inFeatures: number) => ConvProblem | null;
  /** Whether it weighs edges by the weights of its graph. */
  readonly weighsEdges?: boolean;
  /** Number of hops of the layer, each with a separate block and sampler (default 1). */
  readonly hops?: (options: ValuesOf<S>) => number;
  readonly make: (options: ValuesOf<S>, place: ConvContext) => L;
  /**
   * Runs the layer on its block, or on one block per hop, the outermost first.
   *
   * @param relations the relation of each edge of the first block, by edge id; zeros if there are none.
   */
  readonly run: (
    layer: L,
    block: MessageGraph,
    x: Tensor,
    relations: () => Int32Array,
    blocks: readonly MessageGraph[],
  ) => Tensor;
}

/** Returns `record` with the types of its name, options and layer inferred. */
export function convType<const N extends string, S extends Settings, L extends Module>(
  record: ConvType<N, S, L>,
): ConvType<N, S, L> {
  return record;
}

/** Options of all layers with attention heads. */
export const headSettings = {
  num_heads: integer(1, 10, 'attention heads'),
  average_heads: flag(true, 'average the heads; false: concatenate, output_dim is their sum'),
};

/** Checks that concatenated heads divide the output evenly. */
export function checkHeads(
  { num_heads: heads, average_heads: average }: ValuesOf<typeof headSettings>,
  out: number,
): ConvProblem | null {
  if (average || out % heads === 0) return null;
  const advice =
    'Concatenated heads share the output evenly; change one of the two, or set average_heads: true.';
  return { expected: `a multiple of num_heads ${heads}`, advice };
}

/** Returns the width of one head. */
export function headWidth(
  { num_heads: heads, average_heads: average }: ValuesOf<typeof headSettings>,
  out: number,
): number {
  return average ? out : out / heads;
}

export const attentionDropout = fraction(0, 'dropout of the attention');
