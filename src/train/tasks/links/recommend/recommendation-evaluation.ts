/** Evaluates a model of links as a recommender, and popularity next to it. */
import type { WorkerGroup } from '../../../../dist/index.js';
import type { EdgeDecoder } from '../../../../gnn/index.js';
import type { RecommendationMetric, RecommendedLists } from '../../../run/recommendation-metrics.js';
import type { Baseline, HeldOut, Metrics } from '../../../task.js';
import type { BatchSource } from '../../graph/batch/batch-source.js';
import type { Model } from '../../graph/model/model.js';
import type { EndCounts } from '../end-counts.js';
import { recommendedLists, type UserBlock } from './recommended-lists.js';
import { scoreUsers } from './score-users.js';
import type { TopLists } from './top-lists.js';

export class RecommendationEvaluation {
  readonly metrics: readonly RecommendationMetric[];

  constructor(metrics: readonly RecommendationMetric[]) {
    this.metrics = metrics;
  }

  /** Returns the metrics of a model, whose rows the storage has. */
  async ofModel(
    model: Pick<Model, 'device' | 'workers'> & { readonly decoder: EdgeDecoder },
    source: BatchSource,
    split: HeldOut,
    onProgress?: (fraction: number) => void,
  ): Promise<Metrics> {
    const { decoder, workers } = model;
    return this.#compute(
      await recommendedLists({
        ...{ source, split, workers, length: this.#length },
        fill: (block, lists) => scoreUsers(decoder, model, source.storage, block, lists),
        ...(onProgress === undefined ? {} : { onProgress }),
      }),
    );
  }

  /** Returns the metrics of the items that most training edges of the relation point at. */
  async popularity(workers: WorkerGroup | null, source: BatchSource, split: HeldOut): Promise<Baseline> {
    const popular = new Popularity(await source.storage.endCounts());
    const lists = await recommendedLists({
      ...{ source, split, workers, length: this.#length },
      fill: async (block, found) => popular.fill(block, found),
    });
    return { name: 'popularity', metrics: this.#compute(lists) };
  }

  get #length(): number {
    return Math.max(...this.metrics.map(({ k }) => k));
  }

  #compute(lists: RecommendedLists): Metrics {
    return Object.fromEntries(this.metrics.map((metric) => [metric.name, metric.compute(lists)]));
  }
}

/** Items of a relation, most frequent first. */
interface RankedItems {
  readonly ids: Int32Array;
  readonly scores: Int32Array;
}

class Popularity {
  readonly #counts: EndCounts;
  readonly #ranked = new Map<number, RankedItems>();

  constructor(counts: EndCounts) {
    this.#counts = counts;
  }

  fill(block: UserBlock, lists: TopLists): void {
    for (let user = 0; user < block.heads.length; user++) {
      const { ids, scores } = this.#of(block, block.relations === null ? 0 : block.relations[user]);
      const excluded = new Set<number>();
      block.excluded(user, (item) => void excluded.add(item));
      // Excluded items may be the most frequent ones; beyond as many more the list is full.
      const most = Math.min(ids.length, lists.length + excluded.size);
      const picked = ids.subarray(0, most);
      const own = Float64Array.from(picked, (id, i) => (excluded.has(id) ? Number.NaN : scores[i]));
      lists.offer(user, picked, own);
    }
  }

  #of({ candidates }: UserBlock, relation: number): RankedItems {
    let ranked = this.#ranked.get(relation);
    if (ranked === undefined) {
      const { nodes, counts } = this.#counts.of(relation, 'tail');
      const count = new Map(Array.from(nodes, (node, i) => [node, counts[i]]));
      const all = candidates.of(relation, 'tail') ?? nodes;
      const ids = all.slice().sort((a, b) => (count.get(b) ?? 0) - (count.get(a) ?? 0) || a - b);
      ranked = { ids, scores: ids.map((id) => count.get(id) ?? 0) };
      this.#ranked.set(relation, ranked);
    }
    return ranked;
  }
}
