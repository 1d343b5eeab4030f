/**
 * The methods of every predictor: they check arguments, and turn one question into a list of one. A predictor of a task
 * implements the list forms of the questions in `answers`, on checked arguments.
 */
import type { Metrics } from '../train/index.js';
import type { TaskKind } from '../train/run/run-record.js';
import { expected, StateError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import {
  checkChoice,
  checkCount,
  checkEdges,
  checkNamedEvents,
  checkNames,
  checkNewNodes,
  checkQuestions,
  isList,
  isNewNodes,
} from './check-questions.js';
import type {
  EventExplanation,
  ExplainOptions,
  Explanation,
  LinkExplanation,
  NodeExplanation,
} from './explain/explanation.js';
import { type ExplainSettings, explainSettings } from './explain/settings.js';
import type {
  Ability,
  AppendOptions,
  AppendResult,
  ClassifiedName,
  EdgeName,
  Name,
  NamedEvent,
  NeighborOptions,
  NewNodes,
  Predictor,
  RankedName,
  RankOptions,
  RankQuestion,
  ReadOptions,
  RecommendOptions,
  ScoreOptions,
} from './predictor.js';

const abilityTexts: Readonly<Record<Ability, string>> = {
  score: 'score edges',
  rank: 'rank the ends of edges',
  neighbors: 'find similar nodes',
  classify: 'classify nodes',
  embed: 'return rows of nodes',
  recommend: 'recommend nodes',
  explain: 'explain its answers',
  append: 'append events',
};

export abstract class BasePredictor implements Predictor {
  abstract readonly kind: TaskKind;
  abstract readonly answers: readonly Ability[];
  readonly classes: readonly string[] = [];
  abstract readonly metrics: Readonly<Record<string, Metrics>>;

  #isClosed = false;

  get calibrated(): boolean {
    return false;
  }

  score(edge: EdgeName, options?: ScoreOptions): Promise<number>;
  score(edges: readonly EdgeName[], options?: ScoreOptions): Promise<Float32Array>;
  async score(
    given: EdgeName | readonly EdgeName[],
    options: ScoreOptions = {},
  ): Promise<number | Float32Array> {
    this.#check('score');
    checkOptionNames('score', options, { unit: true, unknown: true, newNodes: true, read: true });
    this.#checkRead('score', options);
    checkChoice('score', 'unit', options.unit, ['score', 'probability']);
    checkChoice('score', 'unknown', options.unknown, ['error', 'skip']);
    if (options.newNodes !== undefined) checkNewNodes('score', 'newNodes.', options.newNodes);
    const edges = checkEdges('score', given);
    if (options.unit === 'probability' && !this.calibrated)
      throw new StateError(
        `score: expected a calibrated model for unit, got a model of ${this.kind} that is not. Leave unit out for scores.`,
      );
    const scores = await this.scoreList(edges, options);
    return isList(given) ? scores : scores[0];
  }

  rank(question: RankQuestion, options?: RankOptions): Promise<RankedName[]>;
  rank(questions: readonly RankQuestion[], options?: RankOptions): Promise<RankedName[][]>;
  async rank(
    given: RankQuestion | readonly RankQuestion[],
    options: RankOptions = {},
  ): Promise<RankedName[] | RankedName[][]> {
    this.#check('rank');
    checkOptionNames('rank', options, { k: true, includeKnown: true, candidates: true, read: true });
    this.#checkRead('rank', options);
    checkChoice('rank', 'candidates', options.candidates, ['seen', 'all']);
    checkCount('rank', options);
    const found = await this.rankList(checkQuestions('rank', given), options);
    return isList(given) ? found : found[0];
  }

  neighbors(name: Name, options?: NeighborOptions): Promise<RankedName[]>;
  neighbors(names: readonly Name[], options?: NeighborOptions): Promise<RankedName[][]>;
  async neighbors(
    given: Name | readonly Name[],
    options: NeighborOptions = {},
  ): Promise<RankedName[] | RankedName[][]> {
    this.#check('neighbors');
    checkOptionNames('neighbors', options, { k: true });
    checkCount('neighbors', options);
    const found = await this.neighborList(checkNames('neighbors', given), options);
    return isList(given) ? found : found[0];
  }

  classify(name: Name): Promise<ClassifiedName>;
  classify(names: readonly Name[]): Promise<ClassifiedName[]>;
  classify(nodes: NewNodes): Promise<ClassifiedName[]>;
  async classify(
    given: Name | readonly Name[] | NewNodes,
  ): Promise<ClassifiedName | readonly ClassifiedName[]> {
    this.#check('classify');
    if (isNewNodes(given)) {
      checkNewNodes('classify', '', given);
      return this.classifyNew(given);
    }
    const found = await this.classifyList(checkNames('classify', given));
    return isList(given) ? found : found[0];
  }

  embed(name: Name): Promise<Float32Array>;
  embed(names: readonly Name[]): Promise<Float32Array[]>;
  async embed(given: Name | readonly Name[]): Promise<Float32Array | Float32Array[]> {
    this.#check('embed');
    const rows = await this.embedList(checkNames('embed', given));
    return isList(given) ? rows : rows[0];
  }

  recommend(name: Name, options?: RecommendOptions): Promise<RankedName[]>;
  recommend(names: readonly Name[], options?: RecommendOptions): Promise<RankedName[][]>;
  async recommend(
    given: Name | readonly Name[],
    options: RecommendOptions = {},
  ): Promise<RankedName[] | RankedName[][]> {
    this.#check('recommend');
    checkOptionNames('recommend', options, {
      ...({ k: true, exclude: true, relation: true, time: true, read: true } as const),
    });
    this.#checkRead('recommend', options);
    checkChoice('recommend', 'exclude', options.exclude, ['seen', 'none']);
    checkCount('recommend', options);
    const names = checkNames('recommend', given);
    const { relation, time } = options;
    checkQuestions('recommend', {
      ...(relation === undefined ? {} : { relation }),
      ...(time === undefined ? {} : { time }),
    });
    const found = await this.recommendList(names, options);
    return isList(given) ? found : found[0];
  }

  explain(node: Name, options?: ExplainOptions): Promise<NodeExplanation>;
  explain(edge: EdgeName, options?: ExplainOptions): Promise<LinkExplanation | EventExplanation>;
  async explain(given: Name | EdgeName, options: ExplainOptions = {}): Promise<Explanation> {
    this.#check('explain');
    const settings = explainSettings(this.kind, options);
    if (isList(given))
      throw new ValueError(
        expected('explain', 'one question', 'question', 'a list', 'Ask for one explanation at a time.'),
      );
    const isEdge = typeof given === 'object' && given !== null;
    if (isEdge !== (this.kind !== 'nodes'))
      throw new ValueError(
        expected(
          'explain',
          isEdge ? 'the name of a node' : 'an edge, such as { head: "a", tail: "b" }',
          'question',
          given,
          `This is a model of ${this.kind}.`,
        ),
      );
    if (isEdge) return this.explainEdge(checkEdges('explain', given)[0], settings);
    return this.explainNode(checkNames('explain', given)[0], settings);
  }

  async append(events: readonly NamedEvent[], options: AppendOptions = {}): Promise<AppendResult> {
    this.#check('append');
    checkOptionNames('append', options, { source: true, requestId: true });
    checkNamedEvents('append', events);
    return this.appendList(events, options);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.release();
  }

  /** Releases what the predictor holds; called once. */
  protected abstract release(): Promise<void>;

  // Methods of abilities that a predictor does not list in `answers` are not called.

  protected scoreList(_edges: readonly EdgeName[], _options: ScoreOptions): Promise<Float32Array> {
    throw this.#unsupported('score');
  }

  protected rankList(_questions: readonly RankQuestion[], _options: RankOptions): Promise<RankedName[][]> {
    throw this.#unsupported('rank');
  }

  protected neighborList(_names: readonly Name[], _options: NeighborOptions): Promise<RankedName[][]> {
    throw this.#unsupported('neighbors');
  }

  protected classifyList(_names: readonly Name[]): Promise<ClassifiedName[]> {
    throw this.#unsupported('classify');
  }

  protected classifyNew(_nodes: NewNodes): Promise<ClassifiedName[]> {
    throw new ValueError(
      expected('classify', 'names of nodes', 'nodes', 'new nodes', `A model of ${this.kind} takes none.`),
    );
  }

  protected embedList(_names: readonly Name[]): Promise<Float32Array[]> {
    throw this.#unsupported('embed');
  }

  protected recommendList(_names: readonly Name[], _options: RecommendOptions): Promise<RankedName[][]> {
    throw this.#unsupported('recommend');
  }

  protected explainNode(_node: Name, _settings: ExplainSettings): Promise<NodeExplanation> {
    throw this.#unsupported('explain');
  }

  protected explainEdge(
    _edge: EdgeName,
    _settings: ExplainSettings,
  ): Promise<LinkExplanation | EventExplanation> {
    throw this.#unsupported('explain');
  }

  protected appendList(_events: readonly NamedEvent[], _options: AppendOptions): Promise<AppendResult> {
    throw this.#unsupported('append');
  }

  /** Throws unless answers can see the events that the option `read` asks for. */
  protected checkRead(where: Ability, read: NonNullable<ReadOptions['read']>): void {
    throw new ValueError(
      expected(where, 'no option', 'read', read, 'Only a stream of openStream has events that wait.'),
    );
  }

  #checkRead(where: Ability, { read }: ReadOptions): void {
    checkChoice(where, 'read', read, ['watermark', 'latest']);
    if (read !== undefined) this.checkRead(where, read);
  }

  /** Throws if the predictor has been closed, or does not answer such questions. */
  #check(ability: Ability): void {
    if (this.#isClosed)
      throw new StateError(`${ability}: expected an open model, got one that was closed. Call close() last.`);
    if (!this.answers.includes(ability)) throw this.#unsupported(ability);
  }

  #unsupported(ability: Ability): StateError {
    return new StateError(
      `${ability}: expected a model that can ${abilityTexts[ability]}, got one of ${this.kind}. It answers ${this.answers.join(', ')}.`,
    );
  }
}
