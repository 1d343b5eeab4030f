/** Predictor of models of event streams, by the names in the stream's file. `append` continues the stream. */

import type { EventNodes, EventSide } from '../data/temporal/event-nodes.js';
import type { OnlineScorer } from '../temporal/index.js';
import { type Metrics, type OpenedEventRun, onlineScorer } from '../train/index.js';
import { expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkCount, checkEdges, checkNamedEvents, checkQuestions, timeNumber } from './check-questions.js';
import {
  type Ability,
  BasePredictor,
  type EdgeName,
  type Name,
  type NamedEvent,
  type RankedName,
  type RankOptions,
  type RankQuestion,
  readRunMetrics,
} from './predictor.js';

export class EventPredictor extends BasePredictor {
  override readonly kind = 'events';
  override readonly answers: readonly Ability[] = ['score', 'rank', 'append'];
  override readonly metrics: Readonly<Record<string, Metrics>>;
  readonly run: OpenedEventRun;
  readonly scorer: OnlineScorer;

  /** The run must be finished. */
  constructor(run: OpenedEventRun, command = 'predict') {
    super();
    this.run = run;
    this.scorer = onlineScorer(run, command);
    this.metrics = readRunMetrics(run, run.task.headline);
  }

  override async score(edges: readonly EdgeName[]): Promise<Float32Array> {
    this.checkOpen('score');
    checkEdges('score', edges);
    const src = edges.map(({ head }) => this.#node('head', head, 'src'));
    const dst = edges.map(({ tail }) => this.#node('tail', tail, 'dst'));
    const times = edges.map(({ time }) => (time === undefined ? undefined : timeNumber(time)));
    this.scorer.advance();
    const timed = times.filter((time) => time !== undefined);
    if (timed.length > 0 && timed.length < times.length)
      throw new ValueError(
        'score: expected a time for all edges or for none, got some. Add the missing ones.',
      );
    return Float32Array.from(
      this.scorer.score(src, dst, timed.length === 0 ? undefined : (times as number[])),
    );
  }

  /** Ranks the most likely destinations; `includeKnown` and `candidates` have no effect: an event can happen again, and destinations are fixed. */
  override async rank(
    questions: readonly RankQuestion[],
    options: RankOptions = {},
  ): Promise<RankedName[][]> {
    this.checkOpen('rank');
    checkOptionNames('rank', options, { k: true, includeKnown: true, candidates: true });
    checkQuestions('rank', questions);
    const count = checkCount('rank', options);
    const { dstPool, nodes } = this.run.stream.data;
    this.scorer.advance();
    return questions.map(({ head, tail, relation, time }) => {
      if (head === undefined || tail !== undefined || relation !== undefined)
        throw new ValueError(
          'rank: expected questions with head only for a model of events, got other fields. Leave out tail and relation.',
        );
      const scores = this.scorer.score(
        [this.#node('head', head, 'src')],
        dstPool,
        time === undefined ? time : timeNumber(time),
      );
      const order = Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a] || a - b);
      return order.slice(0, count).map((i) => ({ name: nodes.nameOf(dstPool[i]), score: scores[i] }));
    });
  }

  override async append(events: readonly NamedEvent[]): Promise<void> {
    this.checkOpen('append');
    checkNamedEvents('append', events);
    const features = this.#features(events);
    const types = this.#types(events);
    this.scorer.append({
      src: Int32Array.from(events, ({ head }) => this.#node('head', head, 'src')),
      dst: Int32Array.from(events, ({ tail }) => this.#node('tail', tail, 'dst')),
      time: Float64Array.from(events, ({ time }) => timeNumber(time)),
      ...(features === null ? {} : { features }),
      ...(types === null ? {} : { types }),
    });
  }

  protected override release(): Promise<void> {
    return this.run.close();
  }

  #features(events: readonly NamedEvent[]): Float32Array | null {
    const { featureWidth } = this.run.stream.data;
    const wrong = events.findIndex(({ features = [] }) => features.length !== featureWidth);
    if (wrong >= 0)
      throw new ValueError(
        expected(
          'append',
          `${featureWidth} numbers`,
          `events[${wrong}].features`,
          events[wrong].features ?? [],
        ),
      );
    return featureWidth === 0 ? null : Float32Array.from(events.flatMap(({ features = [] }) => features));
  }

  /** Returns type ids in a stream whose events have types. A model that does not use types takes any. */
  #types(events: readonly NamedEvent[]): Int32Array | null {
    const { stream, config } = this.run;
    if (stream.data.events.types === undefined) return null;
    const names = stream.data.typeNames ?? [];
    return Int32Array.from(events, ({ type }, i) => {
      const id = type === undefined && !config.dataset.types_as_features ? 0 : names.indexOf(type ?? '');
      if (id >= 0) return id;
      throw new ValueError(expected('append', `one of ${names.join(', ')}`, `events[${i}].type`, type));
    });
  }

  #node(field: string, raw: Name, side: EventSide): number {
    const nodes: EventNodes = this.run.stream.data.nodes;
    const id = nodes.idOf(String(raw), side);
    if (id !== undefined) return id;
    const what = `a ${side === 'src' ? 'source' : 'destination'} by its name in the stream's file`;
    throw new ValueError(
      expected('predict', what, field, raw, `The model knows the ${nodes.size} nodes it was trained with.`),
    );
  }
}
