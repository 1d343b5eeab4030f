/** Checks of class ids. */
import { DTypeError, expected, ValueError } from '../../../../util/errors.js';

/** Throws unless there is one class id per node. */
export function checkNodeLabels(
  where: string,
  labels: Int32Array | null,
  numNodes: number,
): Int32Array | null {
  if (labels === null) return null;
  checkClassIds(where, 'labels', labels);
  if (labels.length !== numNodes)
    throw new ValueError(expected(where, `one class id per node (${numNodes})`, 'labels', labels.length));
  return labels;
}

/** Throws unless the labels are class ids. One-hot labels are a tensor or array of floats. */
export function checkClassIds(where: string, what: string, labels: Int32Array): Int32Array {
  if (labels instanceof Int32Array) return labels;
  const got = Object.prototype.toString.call(labels).slice(8, -1);
  throw new DTypeError(
    expected(
      where,
      'an Int32Array of class ids',
      what,
      got,
      'Convert one-hot labels with argmax(labels, 1).',
    ),
  );
}
