/** Charts of what a trained model predicts on the test split: ranks, confusion of classes, reliability of probabilities. */
import { barChart, lineChart, matrixChart, type Panel } from '../../plot/index.js';
import { GraphPredictor } from '../../predict/graph-predictor.js';
import { predictLinks } from '../../predict/index.js';
import { bestColumns, predictNodes } from '../../predict/predict-split.js';
import { scope, softmax } from '../../tensor/index.js';
import { LinkPredictionModel, type NodeClassificationModel, type OpenedGraphRun } from '../../train/index.js';
import { ValueError } from '../../util/errors.js';

/** Upper ends of the ranges of ranks. */
const rankEnds = [1, 3, 10, 30, 100, 300, 1000];

/** Returns the shares of test edges by the rank of their true end, for both directions. */
export async function rankChart(run: OpenedGraphRun): Promise<Panel> {
  if (!(run.model instanceof LinkPredictionModel)) throw wrongModel('ranks', 'links', run);
  const counts = { tail: rangeCounts(), head: rangeCounts() };
  await predictLinks(run.source, run.model, ({ direction, ranks }) => {
    for (const rank of ranks) counts[direction][rangeOf(rank)]++;
  });
  const names = rankEnds
    .map((end, i) => (i === 0 ? '1' : `${rankEnds[i - 1] + 1}–${end}`))
    .concat(`>${rankEnds.at(-1)}`);
  const series = (['tail', 'head'] as const).flatMap((direction) => {
    const total = counts[direction].reduce((sum, count) => sum + count, 0);
    const values = counts[direction].map((count) => count / Math.max(1, total));
    return total === 0 ? [] : [{ name: `predicted ${direction}s`, values }];
  });
  return barChart({
    title: 'Ranks of true ends on the test split',
    x: 'rank',
    y: 'share of edges',
    names,
    series,
    width: 560,
  });
}

const rangeCounts = (): number[] => new Array<number>(rankEnds.length + 1).fill(0);

function rangeOf(rank: number): number {
  const found = rankEnds.findIndex((end) => rank <= end);
  return found < 0 ? rankEnds.length : found;
}

interface TestClasses {
  readonly labels: number[];
  readonly classes: number[];
  /** Probability of the predicted class. */
  readonly confidence: number[];
}

/** Classifies the test nodes whose class is known. */
async function classifyTest(kind: string, run: OpenedGraphRun): Promise<TestClasses> {
  if (run.kind !== 'nodes') throw wrongModel(kind, 'nodes', run);
  const found: TestClasses = { labels: [], classes: [], confidence: [] };
  await predictNodes(run.source, run.model as NodeClassificationModel, ({ labels, logits }) => {
    const best = bestColumns(logits);
    const width = logits.shape[1];
    const probabilities = scope(() => softmax(logits, 1).dataSync().slice());
    for (const [i, chosen] of best.entries()) {
      if (labels === null || labels[i] < 0) continue;
      found.labels.push(labels[i]);
      found.classes.push(chosen);
      found.confidence.push(Number(probabilities[i * width + chosen]));
    }
  });
  return found;
}

/** Returns how often each class is predicted for each true class. */
export async function confusionChart(run: OpenedGraphRun): Promise<Panel> {
  const { labels, classes } = await classifyTest('confusion', run);
  const { classes: names } = await GraphPredictor.open(run);
  const counts = names.map(() => new Array<number>(names.length).fill(0));
  for (const [i, label] of labels.entries()) counts[label][classes[i]]++;
  return matrixChart({
    ...{ title: 'Classes of test nodes', rows: 'true class', columns: 'predicted class' },
    ...{ names, counts },
  });
}

const bins = 10;

/** Returns how often predictions with a probability are right, against that probability. */
export async function reliabilityChart(run: OpenedGraphRun): Promise<Panel> {
  const { labels, classes, confidence } = await classifyTest('reliability', run);
  const sums = Array.from({ length: bins }, () => ({ count: 0, right: 0, confidence: 0 }));
  for (const [i, value] of confidence.entries()) {
    const bin = sums[Math.min(bins - 1, Math.floor(value * bins))];
    bin.count++;
    bin.right += labels[i] === classes[i] ? 1 : 0;
    bin.confidence += value;
  }
  const used = sums.filter(({ count }) => count > 0);
  const error =
    used.reduce((sum, one) => sum + Math.abs(one.right - one.confidence), 0) / Math.max(1, labels.length);
  return lineChart({
    title: `Reliability on the test split, calibration error ${error.toFixed(3)}`,
    ...{ x: 'probability of the predicted class', y: 'share of right predictions', width: 480, height: 420 },
    curves: [
      {
        name: 'model',
        x: used.map(({ confidence: sum, count }) => sum / count),
        y: used.map(({ right, count }) => right / count),
      },
      { name: 'perfectly calibrated', x: [0, 1], y: [0, 1], series: 7, dashed: true },
    ],
  });
}

function wrongModel(kind: string, wanted: string, run: OpenedGraphRun): ValueError {
  return new ValueError(
    `plot: expected a model of ${wanted} for --kind ${kind}, got one of ${run.kind}. Choose another kind.`,
  );
}
