/** Metrics of predicted classes: accuracy, F1, confusion matrix. */
import { expected, ShapeError, ValueError } from '../../../util/errors.js';

export interface ClassificationMetrics {
  /** The fraction of rows with the right class. */
  readonly accuracy: number;
  /** F1 of each class, averaged over the classes that occur in labels or predictions. */
  readonly macroF1: number;
  /** F1 over all rows; for one label per row this is the accuracy. */
  readonly microF1: number;
  readonly f1: readonly number[];
  /** confusion[label][prediction]: the number of rows. Throws for more than 2048 classes: it grows with their square. */
  readonly confusion: readonly (readonly number[])[];
  readonly count: number;
}

/** Most classes of a confusion matrix: 16 MiB of counts. */
const mostInConfusion = 2048;

/** Compares predicted classes with labels; rows labelled −1 are ignored. */
export function classificationMetrics(
  labels: ArrayLike<number>,
  predictions: ArrayLike<number>,
  numClasses: number,
): ClassificationMetrics {
  const where = 'classificationMetrics';
  if (labels.length !== predictions.length)
    throw new ShapeError(expected(where, `${labels.length} predictions`, 'predictions', predictions.length));
  // Per class: rows with that label, with that prediction, with both.
  const labelled = new Uint32Array(numClasses);
  const predicted = new Uint32Array(numClasses);
  const both = new Uint32Array(numClasses);
  const pairs = numClasses <= mostInConfusion ? new Uint32Array(numClasses * numClasses) : null;
  let count = 0;
  let right = 0;
  for (let i = 0; i < labels.length; i++) {
    if (labels[i] === -1) continue;
    for (const [name, value] of [
      ['labels', labels[i]],
      ['predictions', predictions[i]],
    ] as const) {
      if (!(Number.isInteger(value) && value >= 0 && value < numClasses)) {
        const got = `${value} at position ${i}`;
        throw new ValueError(expected(where, `classes from 0 to ${numClasses - 1}`, name, got));
      }
    }
    labelled[labels[i]]++;
    predicted[predictions[i]]++;
    if (pairs !== null) pairs[labels[i] * numClasses + predictions[i]]++;
    count++;
    if (labels[i] !== predictions[i]) continue;
    both[labels[i]]++;
    right++;
  }
  const f1 = Array.from(both, (n, c) => {
    const rows = labelled[c] + predicted[c];
    return rows === 0 ? Number.NaN : (2 * n) / rows;
  });
  const seen = f1.filter((value) => !Number.isNaN(value));
  const accuracy = count === 0 ? Number.NaN : right / count;
  const metrics = {
    accuracy,
    macroF1: seen.length === 0 ? Number.NaN : seen.reduce((sum, v) => sum + v, 0) / seen.length,
    microF1: accuracy,
    f1,
    count,
  };
  if (pairs === null) return withoutConfusion(metrics, numClasses);
  const confusion = Array.from({ length: numClasses }, (_, c) =>
    Array.from(pairs.subarray(c * numClasses, (c + 1) * numClasses)),
  );
  return { ...metrics, confusion };
}

/** Adds a field that explains itself when it is read; it is not listed, so that the others can be printed. */
function withoutConfusion(
  metrics: Omit<ClassificationMetrics, 'confusion'>,
  numClasses: number,
): ClassificationMetrics {
  const get = (): never => {
    const advice = 'Use f1, which has each class.';
    const what = `at most ${mostInConfusion} classes`;
    throw new ValueError(expected('classificationMetrics', what, 'confusion', numClasses, advice));
  };
  return Object.defineProperty(metrics, 'confusion', { get }) as ClassificationMetrics;
}
