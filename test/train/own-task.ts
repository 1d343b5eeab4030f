/** A custom task for `fit`: classes of whole graphs, each the mean of its nodes' rows after one layer. */
import { GCNConv } from 'skein/gnn';
import { Graph } from 'skein/graph';
import { Adam, crossEntropy, Linear, Module } from 'skein/nn';
import { add, argmax, mean, mul, noGrad, randn, relu, reshape, scope, type Tensor } from 'skein/tensor';
import type { Batches, HeldOut, Metrics, SplitName, StepLoss, Task } from 'skein/train';
import { Random } from 'skein/util';
import type { SavedState } from '#internal/train/task.js';

export interface LabelledGraph {
  readonly graph: Graph;
  readonly x: Tensor;
  readonly label: number;
}

class GraphClassifier extends Module {
  readonly conv = new GCNConv(3, 8);
  readonly out = new Linear(8, 2);

  forward({ graph, x }: LabelledGraph): Tensor {
    const rows = relu(this.conv.forward(graph, x));
    return this.out.forward(reshape(mean(rows, 0), [1, 8]));
  }
}

/** Rings (class 0) and stars (class 1) with rows near 1. */
export function ringsAndStars(count: number, seed: number): LabelledGraph[] {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, i) => {
    const [n, label] = [5 + (i % 4), i % 2];
    const src = Int32Array.from({ length: n }, (_, v) => v);
    const graph = Graph.fromEdges(src, label === 0 ? src.map((v) => (v + 1) % n) : src.map(() => 0), {
      numNodes: n,
    });
    return { graph, label, x: add(mul(randn([n, 3], { random }), 0.3), 1) };
  });
}

export class GraphsTask implements Task<LabelledGraph> {
  readonly items = 'graphs';
  readonly headline = 'accuracy';
  readonly model = new GraphClassifier();
  readonly optimizer = new Adam(this.model.parameters(), { lr: 0.02 });
  readonly batches: Readonly<Record<SplitName, Batches<LabelledGraph>>>;
  readonly #graphs: Readonly<Record<SplitName, readonly LabelledGraph[]>>;

  constructor(graphs: Readonly<Record<SplitName, readonly LabelledGraph[]>>) {
    this.#graphs = graphs;
    const inTurn = (split: SplitName): Batches<LabelledGraph> => ({
      numItems: graphs[split].length,
      async *epoch(_epoch, { step } = { step: 0 }) {
        yield* graphs[split].slice(step);
      },
    });
    this.batches = { train: inTurn('train'), validation: inTurn('validation'), test: inTurn('test') };
  }

  train(one: LabelledGraph): StepLoss {
    return scope(() => {
      this.optimizer.zeroGrad();
      const loss = crossEntropy(this.model.forward(one), Int32Array.of(one.label));
      loss.backward();
      this.optimizer.step();
      return { loss: loss.item(), items: 1 };
    });
  }

  async evaluate(split: HeldOut): Promise<Metrics> {
    const graphs = this.#graphs[split];
    if (graphs.length === 0) return {};
    const right = graphs.filter((one) =>
      noGrad(() => scope(() => argmax(this.model.forward(one), 1).item() === one.label)),
    );
    return { accuracy: right.length / graphs.length };
  }

  async snapshot(): Promise<SavedState> {
    return { tensors: {}, state: {} };
  }

  async restore(): Promise<void> {}

  async close(): Promise<void> {}
}
