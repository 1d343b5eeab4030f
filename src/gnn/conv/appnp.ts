/**
 * Personalised propagation of predictions (Gasteiger, Bojchevski and Günnemann, ICLR 2019, eq. 4): z⁰ = x, then `steps`
 * times z = (1 − α) Â z + α x with Â the adjacency with self loops, normalised symmetrically. Typically follows an MLP.
 *
 * Nothing is trained. Several steps over one graph need a whole graph; for samples pass a list of blocks, one per step,
 * the outermost first.
 */
import type { MessageGraph } from '../../graph/index.js';
import { Module } from '../../nn/index.js';
import { add, mul, Tensor } from '../../tensor/index.js';
import { checkInteger, checkNumber, expected, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { fraction, integer, number } from '../../util/settings.js';
import { dropRows } from '../input.js';
import { propagate } from '../propagation.js';
import { convType } from './conv-type.js';

export interface APPNPOptions {
  /** Steps of propagation (default 10). */
  readonly steps?: number;
  /** Probability of teleporting to the start (default 0.1). */
  readonly alpha?: number;
  /** Probability of dropping an entry of z before each step in training. */
  readonly dropout?: number;
  readonly selfLoops?: boolean;
}

/**
 * x [N, F] → [N, F].
 *
 * @example
 * const y = new APPNP({ steps: 10, alpha: 0.1 }).forward(graph, mlp.forward(x));
 */
export class APPNP extends Module {
  readonly steps: number;
  readonly alpha: number;
  readonly dropout: number;
  readonly selfLoops: boolean;

  constructor(options: APPNPOptions = {}) {
    super();
    checkOptionNames('APPNP', options, { steps: true, alpha: true, dropout: true, selfLoops: true });
    this.steps = checkInteger('APPNP', 'steps', options.steps ?? 10, 0);
    this.alpha = checkNumber('APPNP', 'alpha', options.alpha ?? 0.1, 0, 1);
    this.dropout = checkNumber('APPNP', 'dropout', options.dropout ?? 0, 0, 1);
    this.selfLoops = options.selfLoops ?? true;
  }

  forward(graphs: MessageGraph | readonly MessageGraph[], x: Tensor): Tensor {
    const list = stepGraphs('APPNP', graphs, this.steps);
    if (!(x instanceof Tensor)) throw new ValueError(expected('APPNP', 'a tensor', 'x', x));
    let start = mul(x, this.alpha);
    let z = x;
    for (const graph of list) {
      const kept = dropRows(graph, 'src', z, this.training ? this.dropout : 0);
      start = graph.dstRows(start);
      z = add(mul(propagate(graph, kept, this.selfLoops), 1 - this.alpha), start);
    }
    return z;
  }

  protected override describe(): string {
    return `${this.steps} steps, α ${this.alpha}`;
  }
}

/** Returns the graph of each step: a whole graph every time, or the given blocks. */
export function stepGraphs(
  layer: string,
  graphs: MessageGraph | readonly MessageGraph[],
  steps: number,
): readonly MessageGraph[] {
  if (Array.isArray(graphs)) {
    if (graphs.length !== steps)
      throw new ValueError(
        expected(layer, `${steps} blocks (one per step)`, 'the list of blocks', graphs.length),
      );
    return graphs;
  }
  const graph = graphs as MessageGraph;
  if (steps > 1) checkWhole(layer, graph, ' or a list of blocks');
  return new Array<MessageGraph>(steps).fill(graph);
}

/** Throws for graphs whose destinations are not all of their sources, on which a second step cannot run. */
export function checkWhole(layer: string, graph: MessageGraph, alternative = ''): void {
  if (graph.numSrcNodes === graph.numDstNodes) return;
  throw new StateError(
    `${layer}: expected a graph whose nodes are sources and destinations, got ${graph.numSrcNodes} sources and ` +
      `${graph.numDstNodes} destinations. Several steps need a whole graph${alternative}.`,
  );
}

export const appnpType = convType({
  name: 'APPNP',
  weighsEdges: true,
  settings: {
    steps: integer(1, 2, 'steps of propagation, each with a separate sampler', { ours: true }),
    alpha: number(0.1, 'probability of teleporting to the start', { ...{ min: 0, max: 1 }, ours: true }),
    step_dropout: fraction(0, 'dropout before each step', { ours: true }),
  },
  hops: ({ steps }) => steps,
  check: (_options, outFeatures, inFeatures) =>
    outFeatures === inFeatures
      ? null
      : {
          expected: `its input_dim ${inFeatures}`,
          advice: 'APPNP has no parameters; change the width in a stage of type DENSE before it.',
        },
  make: ({ steps, alpha, step_dropout: dropout }) => new APPNP({ steps, alpha, dropout }),
  run: (layer, _block, x, _relations, blocks) => layer.forward(blocks, x),
});
