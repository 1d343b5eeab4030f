/**
 * Metrics of ranks and of classes. Subclass `RankingMetric` or `ClassificationMetric` for one of your own and hand it to
 * a reporter. Empty input gives NaN.
 */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { classificationMetrics } from '../metrics.js';

export abstract class Metric {
  /** The key under which it is reported. */
  abstract readonly name: string;
}

/** A number made from the ranks of right edges among their candidates; 1 is best. */
export abstract class RankingMetric extends Metric {
  /** `candidates[i]` is how many wrong edges the i-th was compared with. */
  abstract compute(ranks: Float64Array, candidates: Float64Array): number;
}

/** A number made from labels and predicted classes. */
export abstract class ClassificationMetric extends Metric {
  abstract compute(labels: Int32Array, predictions: Int32Array, numClasses: number): number;
}

function mean(values: Float64Array, of: (value: number, i: number) => number): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += of(values[i], i);
  return sum / values.length;
}

export class MeanRank extends RankingMetric {
  override readonly name = 'mr';

  override compute(ranks: Float64Array): number {
    return mean(ranks, (rank) => rank);
  }
}

export class MeanReciprocalRank extends RankingMetric {
  override readonly name = 'mrr';

  override compute(ranks: Float64Array): number {
    return mean(ranks, (rank) => 1 / rank);
  }
}

/** The share of ranks up to k. */
export class HitsAtK extends RankingMetric {
  override readonly name: string;
  readonly k: number;

  constructor(k: number) {
    super();
    this.k = checkInteger('HitsAtK', 'k', k, 1);
    this.name = `hits@${k}`;
  }

  override compute(ranks: Float64Array): number {
    return mean(ranks, (rank) => (rank <= this.k ? 1 : 0));
  }
}

/** The chance that a right edge scores above one of its candidates, averaged over right edges. */
export class AreaUnderCurve extends RankingMetric {
  override readonly name = 'auc';

  override compute(ranks: Float64Array, candidates: Float64Array): number {
    return mean(ranks, (rank, i) => (candidates[i] === 0 ? 1 : 1 - (rank - 1) / candidates[i]));
  }
}

export class CategoricalAccuracy extends ClassificationMetric {
  override readonly name = 'accuracy';

  override compute(labels: Int32Array, predictions: Int32Array, numClasses: number): number {
    return classificationMetrics(labels, predictions, numClasses).accuracy;
  }
}

/** F1 over classes: the mean of each class's, or over all rows. */
export class F1Score extends ClassificationMetric {
  override readonly name: string;

  constructor(readonly average: 'macro' | 'micro' = 'macro') {
    super();
    this.name = `f1_${average}`;
  }

  override compute(labels: Int32Array, predictions: Int32Array, numClasses: number): number {
    const { macroF1, microF1 } = classificationMetrics(labels, predictions, numClasses);
    return this.average === 'macro' ? macroF1 : microF1;
  }
}

/** The metric of a name in `evaluation.metrics`. */
export function metricByName(name: string): RankingMetric | ClassificationMetric {
  const hits = /^hits@([1-9]\d*)$/.exec(name);
  if (hits !== null) return new HitsAtK(Number(hits[1]));
  switch (name) {
    case 'mrr':
      return new MeanReciprocalRank();
    case 'mr':
      return new MeanRank();
    case 'auc':
      return new AreaUnderCurve();
    case 'accuracy':
      return new CategoricalAccuracy();
    case 'f1_macro':
      return new F1Score('macro');
    case 'f1_micro':
      return new F1Score('micro');
    default: {
      const what = 'one of mrr, mr, hits@k, auc, accuracy, f1_macro, f1_micro';
      throw new ValueError(expected('metricByName', what, 'name', name));
    }
  }
}
