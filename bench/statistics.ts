/** Figures over rounds and the comparison of two sides' results. */
import type { Check } from './suite.js';

export function median(values: readonly number[]): number {
  const ordered = [...values].sort((a, b) => a - b);
  const middle = Math.floor(ordered.length / 2);
  return ordered.length % 2 === 1 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2;
}

/** What differs between two sides' figures, as a sentence; null when all agree. Both report in the same order. */
export function disagreement(
  ours: readonly Check[],
  theirs: readonly Check[],
  tolerance: number,
): string | null {
  if (ours.length !== theirs.length) return `${ours.length} figures of ours, ${theirs.length} of the peer`;
  for (const [i, { name, value, scale }] of ours.entries()) {
    const other = theirs[i];
    if (other.name !== name) return `figure ${i} is "${name}" of ours, "${other.name}" of the peer`;
    // Written so that NaN on either side disagrees.
    if (!(Math.abs(value - other.value) <= tolerance * Math.max(scale, other.scale))) {
      return `${name}: ours ${value}, the peer's ${other.value}`;
    }
  }
  return null;
}
