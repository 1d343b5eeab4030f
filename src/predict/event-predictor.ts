/** Predictor of models of event streams, by the names in the stream's file. `append` continues the stream. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventNodes, EventSide } from '../data/temporal/event-nodes.js';
import type { OnlineScorer } from '../temporal/index.js';
import { type Metrics, type OpenedEventRun, onlineScorer } from '../train/index.js';
import { expected, ValueError } from '../util/errors.js';
import { BasePredictor } from './base-predictor.js';
import { timeNumber } from './check-questions.js';
import { EventColumnMaker } from './event-columns.js';
import { EventTimes } from './event-times.js';
import { occlusionMethod } from './explain/event-occlusion.js';
import { explainEvent } from './explain/explain-event.js';
import type { EventExplanation } from './explain/explanation.js';
import type { ExplainSettings } from './explain/settings.js';
import { unknownEventNode } from './find-name.js';
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
  ReadOptions,
  RecommendOptions,
  ScoreOptions,
} from './predictor.js';
import { QuestionTurns } from './question-turns.js';
import { readRunMetrics } from './run-metrics.js';
import { BestScores } from './search/best-scores.js';

/** Destinations that are scored at once: some tens of milliseconds of a temporal graph network. */
const partSize = 2048;

/** The advice of error messages about a stream in memory; other layers have other names for their options. */
export interface EventAdvice {
  readonly late: string;
  readonly newNodes: string;
}

const libraryAdvice: EventAdvice = {
  late: 'A stream of openStream takes late ones within its lateness.',
  newNodes: 'A stream of openStream takes new nodes.',
};

interface AskedSource {
  readonly source: number;
  readonly time: number | undefined;
  readonly k: number;
  readonly skip?: ReadonlySet<number>;
  readonly read: ReadOptions['read'];
}

export class EventPredictor extends BasePredictor {
  override readonly kind = 'events';
  override readonly answers: readonly Ability[];
  override readonly metrics: Readonly<Record<string, Metrics>>;
  readonly run: OpenedEventRun;
  readonly scorer: OnlineScorer;
  /** Long questions, and changes of the state that they read. */
  readonly turns = new QuestionTurns();
  protected readonly columns: EventColumnMaker;

  readonly #times: EventTimes;
  readonly #advice: EventAdvice;

  /** The run must be finished. */
  constructor(run: OpenedEventRun, scorer = onlineScorer(run, 'predict'), advice = libraryAdvice) {
    super();
    this.run = run;
    this.scorer = scorer;
    const explains: readonly Ability[] = occlusionMethod(run) === null ? [] : ['explain'];
    this.answers = ['score', 'rank', 'recommend', ...explains, 'append'];
    this.columns = new EventColumnMaker(run);
    const { time, lastTime } = scorer.graph;
    this.#times = new EventTimes(time[0] ?? lastTime, lastTime);
    this.#advice = advice;
    this.metrics = readRunMetrics(run, run.task.headline);
  }

  protected override async scoreList(
    edges: readonly EdgeName[],
    { unknown = 'error', newNodes, read }: ScoreOptions,
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
    const related = edges.findIndex(({ relation }) => relation !== undefined);
    if (related >= 0) throw noRelation('score', `edges[${related}].relation`, edges[related].relation);
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
    const source = isOneValue(src) ? src[0] : src;
    const moment = timed.length === 0 || isOneValue(times) ? times[0] : (times as number[]);
    const found = this.seeing(read, () => this.scorer.score(source, dst, moment));
    const scores = new Float32Array(edges.length).fill(Number.NaN);
    let at = 0;
    for (const [i, edge] of edges.entries())
      if (unknown === 'error' || this.#isKnown(edge)) scores[i] = found[at++];
    return scores;
  }

  /** Ranks destinations. `includeKnown` has no effect: events repeat, so known ones are always included. */
  protected override async rankList(
    questions: readonly RankQuestion[],
    { k = 10, candidates, read }: RankOptions,
  ): Promise<RankedName[][]> {
    if (candidates === 'all')
      throw new ValueError(
        expected('rank', "'seen'", 'candidates', candidates, 'A model of events ranks its destinations.'),
      );
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
    return this.asking(async () => {
      const found: RankedName[][] = [];
      const now = this.#now(read);
      for (const { source, time = now } of asked) found.push(await this.#best({ source, time, k, read }));
      return found;
    });
  }

  /** Ranks destinations; with `exclude: 'seen'` those that no event of the source has had. */
  protected override async recommendList(
    names: readonly Name[],
    { k = 10, exclude = 'none', relation, time: given, read }: RecommendOptions,
  ): Promise<RankedName[][]> {
    if (relation !== undefined) throw noRelation('recommend', 'relation', relation);
    const sources = names.map((name) => this.#node('name', name, 'src'));
    this.refresh();
    const met = new Map(sources.map((source) => [source, new Set<number>()]));
    if (exclude === 'seen')
      this.seeing(read, () => {
        const { src, dst } = this.scorer.graph;
        for (let i = 0; i < src.length; i++) met.get(src[i])?.add(dst[i]);
      });
    return this.asking(async () => {
      const time = given === undefined ? this.#now(read) : timeNumber(given);
      const found: RankedName[][] = [];
      for (const source of sources)
        found.push(await this.#best({ source, time, k, read, skip: met.get(source) as Set<number> }));
      return found;
    });
  }

  protected override async explainEdge(edge: EdgeName, settings: ExplainSettings): Promise<EventExplanation> {
    if (edge.relation !== undefined) throw noRelation('explain', 'edge.relation', edge.relation);
    const src = this.#node('head', edge.head, 'src');
    const dst = this.#node('tail', edge.tail, 'dst');
    this.refresh();
    return this.asking(async () => {
      const time = edge.time === undefined ? this.#now(undefined) : timeNumber(edge.time);
      const { nodes } = this.run.stream.data;
      const named = { head: nodes.nameOf(src), tail: nodes.nameOf(dst), time };
      // Also checks the time.
      this.scorer.score(src, dst, time);
      const found = await explainEvent(this.run, this.scorer, { src, dst, time }, settings);
      return { kind: 'event', ...named, ...found };
    });
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
    this.#times.check(events, this.scorer.graph.lastTime, this.#advice.late);
    this.scorer.append({
      src: Int32Array.from(events, ({ head }, i) => this.#appended(`events[${i}].head`, head, 'src')),
      dst: Int32Array.from(events, ({ tail }, i) => this.#appended(`events[${i}].tail`, tail, 'dst')),
      time: Float64Array.from(events, ({ time }) => timeNumber(time)),
      ...this.columns.columns(events),
    });
    return { outcomes: events.map(() => 'accepted'), newNodes: 0 };
  }

  /** Brings the state up to date before an answer, unless a longer question is being answered. */
  protected refresh(): void {
    if (!this.turns.isAsking) this.scorer.advance();
  }

  /** Runs a question that takes several turns of the event loop; the state stays as it is meanwhile. */
  protected async asking<T>(question: () => Promise<T>): Promise<T> {
    if (this.scorer.numWaiting > 0) await this.turns.change(() => this.scorer.advance());
    return this.turns.ask(question);
  }

  /** Returns the time just after the last event that the option `read` asks for: all parts of a question are about one time. */
  #now(read: ReadOptions['read']): number {
    return this.seeing(read, () => this.scorer.now);
  }

  /** Returns the result of `work`, which sees the events that the option `read` asks for. */
  protected seeing<T>(_read: ReadOptions['read'], work: () => T): T {
    return work();
  }

  protected override release(): Promise<void> {
    return this.run.close();
  }

  /**
   * Returns the `k` destinations of the stream with the highest scores that are not in `skip`. Many destinations are scored
   * in parts, between which the program does other work.
   */
  async #best({ source, time, k, read, skip = new Set() }: AskedSource): Promise<RankedName[]> {
    const { dstPool, nodes } = this.run.stream.data;
    const exclude = new Set<number>();
    if (skip.size > 0) for (const [i, node] of dstPool.entries()) if (skip.has(node)) exclude.add(i);
    const best = new BestScores([{ count: k, exclude }]);
    for (let first = 0; first < dstPool.length; first += partSize) {
      if (first > 0) await nextTurn();
      const part = dstPool.subarray(first, first + partSize);
      const scores = this.seeing(read, () => this.scorer.score([source], part, time));
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
    throw unknownEventNode(nodes, { where: 'predict', field, raw: String(raw), side });
  }

  /** Returns the node of an event that is appended. */
  #appended(field: string, raw: Name, side: EventSide): number {
    const nodes: EventNodes = this.run.stream.data.nodes;
    const id = nodes.idOf(String(raw), side);
    if (id !== undefined) return id;
    const advice = this.#advice.newNodes;
    throw unknownEventNode(nodes, { where: 'append', field, raw: String(raw), side, advice });
  }
}

function isOneValue<T>(values: readonly T[]): boolean {
  return values.length > 0 && values.every((value) => value === values[0]);
}

function noRelation(where: string, name: string, relation: unknown): ValueError {
  return new ValueError(expected(where, 'no relation', name, relation, 'Events have none; leave it out.'));
}
