/** How good predicted classes are: accuracy, F1, confusion. */
import { expected, ShapeError, ValueError } from '../util/errors.js';

export interface ClassificationMetrics {
  /** Share of rows with the right class. */
  readonly accuracy: number;
  /** F1 of each class, averaged over the classes that occur in labels or predictions. */
  readonly macroF1: number;
  /** F1 over all rows; for one label per row this is the accuracy. */
  readonly microF1: number;
  readonly f1: readonly number[];
  /** confusion[label][prediction]: how many rows. */
  readonly confusion: readonly (readonly number[])[];
  readonly count: number;
}

/** Compares predicted classes with labels; rows labelled −1 count for nothing. */
export function classificationMetrics(
  labels: ArrayLike<number>,
  predictions: ArrayLike<number>,
  numClasses: number,
): ClassificationMetrics {
  const where = 'classificationMetrics';
  if (labels.length !== predictions.length)
    throw new ShapeError(expected(where, `${labels.length} predictions`, 'predictions', predictions.length));
  const confusion = Array.from({ length: numClasses }, () => new Array<number>(numClasses).fill(0));
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
    confusion[labels[i]][predictions[i]]++;
    count++;
    if (labels[i] === predictions[i]) right++;
  }
  const f1 = confusion.map((row, c) => {
    const labelled = row.reduce((sum, n) => sum + n, 0);
    const predicted = confusion.reduce((sum, other) => sum + other[c], 0);
    return labelled + predicted === 0 ? Number.NaN : (2 * row[c]) / (labelled + predicted);
  });
  const seen = f1.filter((value) => !Number.isNaN(value));
  const accuracy = count === 0 ? Number.NaN : right / count;
  return {
    accuracy,
    macroF1: seen.length === 0 ? Number.NaN : seen.reduce((sum, v) => sum + v, 0) / seen.length,
    microF1: accuracy,
    f1,
    confusion,
    count,
  };
}
