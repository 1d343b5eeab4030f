/** Ranks among candidates that all events of an evaluation share. */
import { expected, ValueError } from '../util/errors.js';
import type { CandidateScores } from './steps.js';

/** Candidates with the position of each node among them. */
export class CandidateIndex {
  readonly nodes: Int32Array;
  readonly #positions = new Map<number, number>();

  constructor(nodes: Int32Array) {
    this.nodes = nodes;
    for (const [i, node] of nodes.entries()) this.#positions.set(node, i);
  }

  /** Returns the position of a node in `nodes`; −1 if it is not a candidate. */
  position(node: number): number {
    return this.#positions.get(node) ?? -1;
  }
}

/**
 * Returns the rank of each event, 1 + ½ (candidates above + candidates not below). `leaveOut` are the positions in
 * `candidates` [B · count] that are not compared: those of the events' own destinations and of other positives.
 */
export function ranksAmong(
  { positive, candidates }: CandidateScores,
  count: number,
  leaveOut: Iterable<number>,
): Float64Array {
  const doubled = new Float64Array(positive.length);
  for (let i = 0; i < positive.length; i++) {
    const own = positive[i];
    let [above, tied, below] = [0, 0, 0];
    for (let k = i * count; k < (i + 1) * count; k++) {
      const other = candidates[k];
      if (other > own) above++;
      else if (other === own) tied++;
      else if (other < own) below++;
    }
    if (above + tied + below !== count) {
      const advice = 'The model diverged: lower the learning rate or look at its input.';
      throw new ValueError(expected('ranksAmong', 'numbers', 'scores', Number.NaN, advice));
    }
    doubled[i] = 2 + 2 * above + tied;
  }
  for (const k of leaveOut) {
    const i = Math.floor(k / count);
    if (candidates[k] > positive[i]) doubled[i] -= 2;
    else if (candidates[k] === positive[i]) doubled[i] -= 1;
  }
  return doubled.map((twice) => twice / 2);
}
