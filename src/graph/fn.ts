/**
 * Messages as data: `fn.copyU('h', 'm')`, `fn.uMulE('h', 'w', 'm')`, … with `fn.sum('m', 'h')`.
 *
 * u is the source of an edge, v its destination, e the edge itself. As a message is data, a graph can see which fields
 * it needs (a distributed graph fetches only those) and which fused kernel computes it. Any function of the two ends
 * can be a message too, see `UserMessage`.
 */
import type { Tensor } from '../tensor/index.js';
import type { Frame } from './frame.js';

export type Target = 'u' | 'v' | 'e';
export type MessageOp = 'copy' | 'add' | 'sub' | 'mul' | 'div' | 'dot';
export type ReduceName = 'sum' | 'mean' | 'max' | 'min';

export interface Operand {
  readonly target: Target;
  readonly field: string;
}

/** A message along an edge: one field, or two fields combined. */
export interface Message {
  readonly op: MessageOp;
  readonly lhs: Operand;
  readonly rhs: Operand | null;
  /** The name of the message. */
  readonly out: string;
}

/** The reduction of the messages of a node to one value. An empty neighbourhood gives 0. */
export interface Reduce {
  readonly op: ReduceName;
  /** The message it reduces. */
  readonly message: string;
  /** The destination field it sets. */
  readonly out: string;
}

/** One row per edge, in the order of edge ids: `src` and `dst` are the fields of its ends, `data` those of the edge. */
export interface EdgeBatch {
  readonly src: Frame;
  readonly dst: Frame;
  readonly data: Frame;
  /** The shard of these edges, on a graph that is distributed over workers. */
  readonly sarShardInfo?: ShardInfo;
}

/** A function that computes fields of the destinations from their fields after a reduction. */
export type NodeFunction = (nodes: { readonly data: Frame }) => Readonly<Record<string, Tensor>>;

/** One shard of a graph that is distributed over workers. */
export interface ShardInfo {
  /** The worker that owns the sources. */
  readonly shardIdx: number;
  readonly numSrc: number;
  /** Rows of the destinations with an edge in the shard. */
  readonly dstRows: Int32Array;
  /** The positions of the edges. */
  readonly positions: Int32Array;
}

/** A message computed by user code; it returns named tensors with one row per edge. */
export interface UserMessage {
  (edges: EdgeBatch): Record<string, Tensor>;
  /** The parameters that the function reads, see `messageHasParameters`. */
  parameters?: () => readonly Tensor[];
}

type LowerTarget = Target;
type UpperTarget<L extends Target> = Uppercase<Exclude<Target, L>>;
type OpName = 'Add' | 'Sub' | 'Mul' | 'Div' | 'Dot';
type BinaryName = { [L in LowerTarget]: `${L}${OpName}${UpperTarget<L>}` }[LowerTarget];
type BinaryBuilder = (lhs: string, rhs: string, out: string) => Message;
type Copy = (field: string, out: string) => Message;
type Reducer = (message: string, out: string) => Reduce;

type MessageFunctions = Readonly<Record<BinaryName, BinaryBuilder>> & {
  readonly copyU: Copy;
  readonly copyE: Copy;
  readonly sum: Reducer;
  readonly mean: Reducer;
  readonly max: Reducer;
  readonly min: Reducer;
};

const targets: readonly Target[] = ['u', 'v', 'e'];
const ops: Readonly<Record<OpName, MessageOp>> = {
  Add: 'add',
  Sub: 'sub',
  Mul: 'mul',
  Div: 'div',
  Dot: 'dot',
};

function binaryBuilders(): [string, BinaryBuilder][] {
  const builders: [string, BinaryBuilder][] = [];
  for (const l of targets) {
    for (const r of targets) {
      if (l === r) continue;
      for (const [name, op] of Object.entries(ops)) {
        const build: BinaryBuilder = (lhs, rhs, out) => ({
          op,
          lhs: { target: l, field: lhs },
          rhs: { target: r, field: rhs },
          out,
        });
        builders.push([`${l}${name}${r.toUpperCase()}`, build]);
      }
    }
  }
  return builders;
}

const copy =
  (target: Target): Copy =>
  (field, out) => ({ op: 'copy', lhs: { target, field }, rhs: null, out });

const reducer =
  (op: ReduceName): Reducer =>
  (message, out) => ({ op, message, out });

/**
 * Builders of messages and reductions: copyU, copyE, every pair of two ends with Add, Sub, Mul, Div and Dot (uMulE,
 * uAddV, …; Dot sums products over the last axis and keeps it with size 1), and sum, mean, max, min.
 */
export const fn = {
  ...Object.fromEntries(binaryBuilders()),
  copyU: copy('u'),
  copyE: copy('e'),
  sum: reducer('sum'),
  mean: reducer('mean'),
  max: reducer('max'),
  min: reducer('min'),
} as MessageFunctions;

/**
 * Declares the parameters that a message function reads. A graph that recomputes messages in backward (sequential
 * aggregation over shards) needs them; elsewhere this has no effect.
 *
 * @example
 * const message = messageHasParameters((edges) => ({ m: lin.forward(edges.src.h) }), () => [lin.weight]);
 */
export function messageHasParameters(
  message: (edges: EdgeBatch) => Record<string, Tensor>,
  parameters: () => readonly Tensor[],
): UserMessage {
  const declared: UserMessage = (edges) => message(edges);
  declared.parameters = parameters;
  return declared;
}
