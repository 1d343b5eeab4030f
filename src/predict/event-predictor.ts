/** Predictor of models of event streams, by the names in the stream's file. `append` continues the stream. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventNodes, EventSide } from '../data/temporal/event-nodes.js';
import type { OnlineScorer } from '../temporal/index.js';
import { type Metrics, type OpenedEventRun, onlineScorer } from '../train/index.js';
import { expected, ValueError } from '../util/errors.js';
import { BasePredictor } from './base-predictor.js';
import { timeNumber } from './check-questions.js';
import { EventColumnMaker } from './event-columns.js';
import type {
  Ability,
  AppendOptions,
  AppendResult,
  EdgeName,
  Name,
  NamedEvent,
  RankedName,
  RankOptions,
  RankQuestion,
  RecommendOptions,
  ScoreOptions,
} from './predictor.js';
import { readRunMetrics } from './run-metrics.js';
import { BestScores } from './search/best-scores.js';

/** Destinations that are scored at once: some tens of milliseconds of a temporal graph network. */
const partSize = 2048;

export class EventPredictor extends BasePredictor {
  override readonly kind = 'events';
  override readonly answers: readonly Ability[] = ['score', 'rank', 'recommend', 'append'];
  override readonly metrics: Readonly<Record<string, Metrics>>;
  readonly run: OpenedEventRun;
  readonly scorer: OnlineScorer;
  protected readonly columns: EventColumnMaker;

  /** The run must be finished. */
  constructor(run: OpenedEventRun, scorer = onlineScorer(run, 'predict')) {
    super();
    this.run = run;
    this.scorer = scorer;
    this.columns = new EventColumnMaker(run);
    this.metrics = readRunMetrics(run, run.task.headline);
  }

  protected override async scoreList(
    edges: readonly EdgeName[],
    { unknown = 'error', newNodes }: ScoreOptions,
  ): Promise<Float32Array> {
    if (newNodes !== undefined)
      throw new ValueError(
        expected(
          'score',
          'no new nodes',
          'newNodes',
          newNodes,
          'A model of events knows nodes by its stream.',
        ),
      );
    const asked = edges.filter((edge) => unknown === 'error' || this.#isKnown(edge));
    const src = asked.map(({ head }) => this.#node('head', head, 'src'));
    const dst = asked.map(({ tail }) => this.#node('tail', tail, 'dst'));
    const times = asked.map(({ time }) => (time === undefined ? undefined : timeNumber(time)));
    this.refresh();
    const timed = times.filter((time) => time !== undefined);
    if (timed.length > 0 && timed.length < times.length)
      throw new ValueError(
        'score: expected a time for all edges or for none, got some. Add the missing ones.',
      );
    // One source for all destinations is embedded once.
    const found = this.scorer.score(
      isOneValue(src) ? src[0] : src,
      dst,
      timed.length === 0 || isOneValue(times) ? times[0] : (times as number[]),
    );
    const scores = new Float32Array(edges.length).fill(Number.NaN);
    let at = 0;
    for (const [i, edge] of edges.entries())
      if (unknown === 'error' || this.#isKnown(edge)) scores[i] = found[at++];
    return scores;
  }

  /** Ranks destinations; `includeKnown` and `candidates` have no effect: events repeat, and destinations are fixed. */
  protected override async rankList(
    questions: readonly RankQuestion[],
    { k = 10 }: RankOptions,
  ): Promise<RankedName[][]> {
    const wrong = questions.findIndex(
      ({ head, tail, relation }) => head === undefined || tail !== undefined || relation !== undefined,
    );
    if (wrong >= 0)
      throw new ValueError(
        'rank: expected questions with head only for a model of events, got other fields. Leave out tail and relation.',
      );
    const asked = questions.map(({ head, time }) => ({
      source: this.#node('head', head as Name, 'src'),
      time: time === undefined ? undefined : timeNumber(time),
    }));
    this.refresh();
    const found: RankedName[][] = [];
    for (const { source, time } of asked) found.push(await this.#best(source, time, k, new Set()));
    return found;
  }

  /** Ranks destinations; with `exclude: 'seen'` those that no event of the source has had. */
  protected override async recommendList(
    names: readonly Name[],
    { k = 10, exclude = 'none', relation, time }: RecommendOptions,
  ): Promise<RankedName[][]> {
    if (relation !== undefined)
      throw new ValueError(
        expected('recommend', 'no relation', 'relation', relation, 'Events have none; leave it out.'),
      );
    const sources = names.map((name) => this.#node('name', name, 'src'));
    const at = time === undefined ? undefined : timeNumber(time);
    this.refresh();
    const met = new Map(sources.map((source) => [source, new Set<number>()]));
    if (exclude === 'seen') {
      const { src, dst } = this.scorer.graph;
      for (let i = 0; i < src.length; i++) met.get(src[i])?.add(dst[i]);
    }
    const found: RankedName[][] = [];
    for (const source of sources) found.push(await this.#best(source, at, k, met.get(source) as Set<number>));
    return found;
  }

  protected override async appendList(
    events: readonly NamedEvent[],
    options: AppendOptions,
  ): Promise<AppendResult> {
    const [option] = Object.keys(options);
    if (option !== undefined)
      throw new ValueError(
        `append: expected no options for a stream without a log, got ${option}. Open the model with openStream.`,
      );
    for (const [i, event] of events.entries()) this.columns.check(`events[${i}]`, event);
    this.scorer.append({
      src: Int32Array.from(events, ({ head }) => this.#node('head', head, 'src')),
      dst: Int32Array.from(events, ({ tail }) => this.#node('tail', tail, 'dst')),
      time: Float64Array.from(events, ({ time }) => timeNumber(time)),
      ...this.columns.columns(events),
    });
    return { outcomes: events.map(() => 'accepted'), newNodes: 0 };
  }

  /** Brings the state up to date before an answer. */
  protected refresh(): void {
    this.scorer.advance();
  }

  protected override release(): Promise<void> {
    return this.run.close();
  }

  /**
   * Returns the `count` destinations of the stream with the highest scores that are not in `skip`. Many destinations are scored
   * in parts, between which the program does other work.
   */
  async #best(
    source: number,
    time: number | undefined,
    count: number,
    skip: ReadonlySet<number>,
  ): Promise<RankedName[]> {
    const { dstPool, nodes } = this.run.stream.data;
    const exclude = new Set<number>();
    if (skip.size > 0) for (const [i, node] of dstPool.entries()) if (skip.has(node)) exclude.add(i);
    const best = new BestScores([{ count, exclude }]);
    for (let first = 0; first < dstPool.length; first += partSize) {
      if (first > 0) await nextTurn();
      const part = dstPool.subarray(first, first + partSize);
      const scores = this.scorer.score([source], part, time);
      const places = { first, count: part.length, ids: null, isGathered: false };
      best.offer({ scores, rowStride: 1, queryStride: 1 }, places);
    }
    return best.results()[0].map(({ id, score }) => ({ name: nodes.nameOf(dstPool[id]), score }));
  }

  /** Returns whether the stream has the nodes of an edge. */
  #isKnown({ head, tail }: EdgeName): boolean {
    const nodes: EventNodes = this.run.stream.data.nodes;
    return nodes.idOf(String(head), 'src') !== undefined && nodes.idOf(String(tail), 'dst') !== undefined;
  }

  #node(field: string, raw: Name, side: EventSide): number {
    const nodes: EventNodes = this.run.stream.data.nodes;
    const id = nodes.idOf(String(raw), side);
    if (id !== undefined) return id;
    const what = `a ${side === 'src' ? 'source' : 'destination'} by its name in the stream's file`;
    throw new ValueError(expected('predict', what, field, raw, `The model knows ${nodes.size} nodes.`), {
      name: String(raw),
    });
  }
}

function isOneValue<T>(values: readonly T[]): boolean {
  return values.length > 0 && values.every((value) => value === values[0]);
}
