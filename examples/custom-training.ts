/**
 * Link prediction with a custom decoder, loss and negative sampler, assembled from public components.
 *   npm run example -- custom-training [--seed 3] [--epochs 20] [--json]
 * Trains on UMLS from $SKEIN_DATA, or on a generated graph if it is missing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PreparedDataset } from 'skein/data';
import { DotCompare, EdgeDecoder, type EdgeDecoderOptions, LossFunction, RelationOperator } from 'skein/gnn';
import {
  type Batch,
  GraphBatcher,
  type GraphModelStorage,
  kHopNeighborSampler,
  type MariusOptions,
  NegativeSampler,
  SynchronousEvaluator,
  SynchronousTrainer,
} from 'skein/marius';
import { init } from 'skein/nn';
import { add, mul, slice, softplus, sub, sum, type Tensor, unsqueeze } from 'skein/tensor';
import {
  GeneralEncoder,
  initializeStorage,
  LinkPredictionModel,
  ProgressReporter,
  RandomEdgeSampler,
  resolveConfig,
} from 'skein/train';
import { Random } from 'skein/util';
import { prepareLinks } from './shared/umls-or-generated.js';

/** Scales and shifts: e ∘ a + b, followed by dot products. */
class AffineOperator extends RelationOperator {
  override relationWidth(dim: number): number {
    return 2 * dim;
  }
  override initialize(relations: Tensor, options: { readonly random?: Random }): void {
    init.normal(relations, { ...options, mean: 0.5, std: 0.5 });
  }
  override apply(embs: Tensor, rels: Tensor | null): Tensor {
    const dim = embs.shape[1];
    return rels === null ? embs : add(mul(embs, slice(rels, 0, dim, 1)), slice(rels, dim, 2 * dim, 1));
  }
}

class AffineDecoder extends EdgeDecoder {
  constructor(options: EdgeDecoderOptions) {
    super(new AffineOperator(), new DotCompare(), options);
  }
}

/** A soft margin between every true edge and each of its corrupted ones: Σ log(1 + exp(n − p)). */
class SoftMarginLoss extends LossFunction {
  override forward(positive: Tensor, negative: Tensor): Tensor {
    return sum(softplus(sub(negative, unsqueeze(positive, 1))));
  }
}

/** Draws negatives from the same end of other edges of the batch: of the right type, and mostly not true edges. */
class SameEndSampler extends NegativeSampler {
  readonly #random: Random;
  constructor(graphStorage: GraphModelStorage, seed: number) {
    super(graphStorage);
    this.#random = new Random(seed);
  }
  override getNegatives({ src, dst, at }: Batch, corruptSources: boolean): Int32Array {
    const ends = (corruptSources ? src : dst) as Int32Array;
    const random = this.#random.split(at.epoch).split(2 * at.step + Number(corruptSources));
    return Int32Array.from({ length: 64 }, () => ends[random.nextInt(ends.length)]);
  }
}

const text = (value: string) => ({ type: 'string', default: value }) as const;
const { values } = parseArgs({ options: { seed: text('1'), epochs: text('15'), json: { type: 'boolean' } } });
const seed = Number(values.seed);
const folder = mkdtempSync(join(tmpdir(), 'skein-example-'));

try {
  const name = await prepareLinks(folder);
  const sage = { type: 'GNN', options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' }, output_dim: 64 };
  const layers = [[{ type: 'EMBEDDING', output_dim: 64 }], [sage]];
  const encoderOptions = { layers, train_neighbor_sampling: [{ type: 'ALL' }] };
  const mariusOptions: MariusOptions = resolveConfig({
    model: { random_seed: seed, learning_task: 'LINK_PREDICTION', encoder: encoderOptions },
    storage: { dataset: { dataset_dir: join(folder, 'data') } },
  }).config;
  const dataset = await PreparedDataset.open(mariusOptions.storage.dataset.dataset_dir);

  const numRelations = dataset.stats.num_relations;
  const files = { tableDirectory: join(folder, 'table') };
  const { storage: graphModelStorage } = await initializeStorage(mariusOptions, dataset, files);
  const random = new Random(seed);
  const encoder = new GeneralEncoder(mariusOptions.model.encoder, { random, numRelations });
  const decoder = new AffineDecoder({ dim: encoder.outputDim, numRelations, random });
  const model = new LinkPredictionModel(encoder, decoder, new SoftMarginLoss());
  model.useOptimizer(mariusOptions.model.dense_optimizer);

  const edgeSampler = new RandomEdgeSampler(graphModelStorage, { seed });
  const negativeSampler = new SameEndSampler(graphModelStorage, seed);
  const neighborSampler = new kHopNeighborSampler(graphModelStorage, encoder.numGnnStages, 'UNIFORM', 10);
  const samplers = [edgeSampler, negativeSampler, neighborSampler, null] as const;
  const graphBatcher = new GraphBatcher(graphModelStorage, ...samplers, { batchSize: 250 });

  const trainer = new SynchronousTrainer(graphBatcher, model, { progressReporter: new ProgressReporter() });
  const evaluator = new SynchronousEvaluator(graphBatcher, model);

  const numEpochs = Number(values.epochs);
  await trainer.train(numEpochs);
  const metrics = await evaluator.evaluate();
  await model.save(folder);
  await graphBatcher.unloadStorage();
  const done = { event: 'done', dataset: name, epochs: numEpochs, seed, ...metrics };
  if (values.json) console.log(JSON.stringify(done));
  else console.log(`${name}: ${model.reporter.report()}`);
} finally {
  rmSync(folder, { recursive: true });
}
