/**
 * A graph layer that a configuration can name: `options: { type: GAT, num_heads: 4 }` of an encoder's GNN layer. The record
 * is in the layer's file; `index.ts` lists all records, from which `train/config` makes the schema and the documentation.
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

/** What a layer of an encoder is made for. The encoder adds the bias, so that the layer has none of its own. */
export interface ConvPlace {
  readonly into: number;
  readonly out: number;
  readonly random: Random;
  /** 0 where edges have no relation. */
  readonly numRelations: number;
  /** Which neighbours it sees. */
  readonly incoming: boolean;
  readonly outgoing: boolean;
}

/** Why the options of a layer do not fit its width. */
export interface ConvProblem {
  /** What `output_dim` should be. */
  readonly expected: string;
  readonly advice: string;
}

export interface ConvType<N extends string = string, S extends Settings = Settings, L extends Module = Module>
  extends ConfigType<N, S> {
  /** Whether the options fit an output of `out` columns and an input of `into`. */
  readonly check?: (options: ValuesOf<S>, out: number, into: number) => ConvProblem | null;
  /** Whether it weighs edges by the weights of its graph. */
  readonly weighsEdges?: boolean;
  /** Hops that the layer goes, each with a block and a sampler of its own; 1 by default. */
  readonly hops?: (options: ValuesOf<S>) => number;
  readonly make: (options: ValuesOf<S>, place: ConvPlace) => L;
  /**
   * The layer on its block, or on a block for each hop, the outermost first.
   *
   * @param relations the relation of each edge of the first block, by edge id; zeros where there are none.
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

/** Options of every layer with attention heads. */
export const headSettings = {
  num_heads: integer(1, 10, 'attention heads'),
  average_heads: flag(true, 'average the heads; false: concatenate, output_dim is their sum'),
};

/** Heads that are concatenated share the output evenly. */
export function checkHeads(
  { num_heads: heads, average_heads: average }: ValuesOf<typeof headSettings>,
  out: number,
): ConvProblem | null {
  if (average || out % heads === 0) return null;
  const advice =
    'Concatenated heads share the output evenly; change one of the two, or set average_heads: true.';
  return { expected: `a multiple of num_heads ${heads}`, advice };
}

/** Width of one head. */
export function headWidth(
  { num_heads: heads, average_heads: average }: ValuesOf<typeof headSettings>,
  out: number,
): number {
  return average ? out : out / heads;
}

export const attentionDropout = fraction(0, 'dropout of the attention');
