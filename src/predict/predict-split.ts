/**
 * Predictions of a saved model, batch by batch: ranks and scores of edges in both directions, classes of nodes. The
 * model's reporter holds the metrics afterwards. Other edges or nodes can replace the test set.
 */
import { noGrad, scope, type Tensor } from '../tensor/index.js';
import {
  type BatchSource,
  GraphStorage,
  type LinkPredictionModel,
  type NodeClassificationModel,
  type OpenedGraphRun,
  type TrainingBatch,
} from '../train/index.js';
import { initializeBatches } from '../train/tasks/graph/initialize-model.js';
import { MemoryEdges } from '../train/tasks/graph/storage/edge-splits.js';
import type { RankDetails } from '../train/tasks/links/link-prediction-reporter.js';
import { countAgainstAll } from '../train/tasks/links/rank-against-all.js';
import { StateError } from '../util/errors.js';

/** Edges of one batch in one direction. */
export interface PredictedEdges {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly relations: Int32Array | null;
  /** The predicted endpoint. */
  readonly direction: 'tail' | 'head';
  readonly ranks: Float64Array;
  readonly scores: Float32Array;
}

export interface PredictedNodes {
  readonly nodes: Int32Array;
  readonly classes: Int32Array;
  /** −1 if the class is unknown; null if no class is known. */
  readonly labels: Int32Array | null;
  /** Scores of every class [nodes, classes]; valid during the call. */
  readonly logits: Tensor;
}

/** Ranks the edges of the test set. */
export async function predictLinks(
  source: BatchSource,
  model: LinkPredictionModel,
  take: (edges: PredictedEdges) => void,
): Promise<void> {
  await startTest(source, model);
  await model.encodeForEvaluation(source);
  while (source.hasNext()) {
    const batch = await source.next();
    const { src, dst, relations } = batch as TrainingBatch & { src: Int32Array; dst: Int32Array };
    for (const { direction, ranks, scores } of await rankBatch(model, batch))
      take({ src, dst, relations, direction, ranks, scores });
    batch.dispose();
  }
}

type Ranked = Pick<PredictedEdges, 'direction' | 'ranks' | 'scores'>;

async function rankBatch(model: LinkPredictionModel, batch: TrainingBatch): Promise<Ranked[]> {
  const { reporter } = model;
  const { relations } = batch;
  const details = (direction: 'tail' | 'head'): RankDetails =>
    relations === null ? { direction } : { direction, relations };
  const record = (direction: 'tail' | 'head', scores: Float32Array, add: () => void): Ranked => {
    const first = reporter.size;
    add();
    return { direction, scores, ranks: reporter.ranksFrom(first) };
  };
  if (batch.evaluation !== null) {
    const counted = await countAgainstAll(model.decoder, batch);
    return counted.map(({ direction, greater, equal, candidates, scores }) =>
      record(direction, scores, () => reporter.addCounts(greater, equal, candidates, details(direction))),
    );
  }
  return noGrad(() =>
    scope(() => {
      const [rhsPos, rhsNeg, lhsPos, lhsNeg] = model.forward(batch, false);
      const sides: readonly (readonly ['tail' | 'head', Tensor | null, Tensor | null])[] = [
        ['tail', rhsPos, rhsNeg],
        ['head', lhsPos, lhsNeg],
      ];
      return sides.flatMap(([direction, positive, negative]) => {
        if (positive === null || negative === null) return [];
        const scores = (positive.dataSync() as Float32Array).slice();
        return [record(direction, scores, () => reporter.addResult(scores, negative, details(direction)))];
      });
    }),
  );
}

/** Classifies the nodes of the test set. */
export async function predictNodes(
  source: BatchSource,
  model: NodeClassificationModel,
  take: (nodes: PredictedNodes) => void,
): Promise<void> {
  await startTest(source, model);
  while (source.hasNext()) {
    const batch = await source.next();
    const { rootNodes: nodes, uniqueNodeLabels: labels } = batch as TrainingBatch & { rootNodes: Int32Array };
    noGrad(() =>
      scope(() => {
        const logits = model.forward(batch, false);
        const classes = bestColumns(logits);
        if (labels !== null) model.reporter.addResult(labels, classes);
        take({ nodes, classes, labels, logits });
      }),
    );
    batch.dispose();
  }
}

async function startTest(
  source: BatchSource,
  model: LinkPredictionModel | NodeClassificationModel,
): Promise<void> {
  source.select('test');
  if (source.numItems === 0)
    throw new StateError(
      'predict: expected a test set, got none. Pass a file with --input-file, or prepare the dataset with a split.',
    );
  await source.load();
  model.startEvaluation();
}

/** Returns the column of each row's highest value; the first of equals. */
export function bestColumns(scores: Tensor): Int32Array {
  const [rows, columns] = scores.shape;
  const values = scores.dataSync();
  return Int32Array.from({ length: rows }, (_, i) => {
    let best = 0;
    for (let j = 1; j < columns; j++) if (values[i * columns + j] > values[i * columns + best]) best = j;
    return best;
  });
}

/** Edges or nodes that replace the test set. */
export interface OtherTestSet {
  /** Rows [source, (relation,) destination]. */
  readonly edges?: Int32Array;
  readonly nodes?: Int32Array;
}

/** Batches of other edges or nodes. The edges of the test set stay known: they are left out of filtered ranks. */
export async function withTestSet(run: OpenedGraphRun, { edges, nodes }: OtherTestSet): Promise<BatchSource> {
  const { storage, config, dataset, record } = run;
  const columns = dataset.numColumns;
  const train = storage.split('train');
  const held = edges === undefined ? null : await readHeldOutEdges(run);
  const replaced = new GraphStorage({
    numNodes: storage.numNodes,
    numRelations: storage.numRelations,
    embeddings: storage.embeddings,
    features: storage.features,
    text: storage.text,
    residency: storage.residency,
    labels: storage.labels,
    nodeTypes: storage.nodeTypes,
    edges: {
      ...(train === null ? {} : { train }),
      ...(held === null ? {} : { validation: new MemoryEdges(held, columns) }),
      ...(edges === undefined ? {} : { test: new MemoryEdges(edges, columns) }),
    },
    ...(nodes === undefined ? {} : { nodes: { test: nodes } }),
  });
  const source = initializeBatches(config, replaced);
  source.seek(record.position);
  return source;
}

async function readHeldOutEdges({ dataset }: OpenedGraphRun): Promise<Int32Array> {
  const [validation, test] = [await dataset.readEdges('validation'), await dataset.readEdges('test')];
  const all = new Int32Array(validation.length + test.length);
  all.set(validation);
  all.set(test, validation.length);
  return all;
}
