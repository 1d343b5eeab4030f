import type { DenseSample } from '../../../../sample/index.js';
import type { TrainingBatch } from './training-batch.js';

/** Takes the edges of the batch out of its sampled neighbourhood. */
export function hideTargets(batch: TrainingBatch, graph: DenseSample): void {
  const [src, dst] = [batch.share?.allSrc ?? batch.src, batch.share?.allDst ?? batch.dst];
  if (src === null || dst === null) return;
  const hidden = new Map<number, Set<number>>();
  for (let i = 0; i < src.length; i++) {
    const others = hidden.get(src[i]);
    if (others === undefined) hidden.set(src[i], new Set([dst[i]]));
    else others.add(dst[i]);
  }
  graph.filterEdges((_id, from, to) => hidden.get(from)?.has(to) !== true);
}
