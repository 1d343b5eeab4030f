/** Predictor of link and node models of a prepared graph, by names. */
import type { NameTable } from '../data/prepare/name-table.js';
import { fromTypedArray, scope, softmax, type Tensor } from '../tensor/index.js';
import type { Metrics, NodeClassificationModel, OpenedGraphRun } from '../train/index.js';
import { expected, ValueError } from '../util/errors.js';
import { BasePredictor } from './base-predictor.js';
import { canCalibrate, LinkCalibration } from './calibration/link-calibration.js';
import type { LinkExplanation, NodeExplanation } from './explain/explanation.js';
import { explainLinkByName, explainNodeByName } from './explain/names.js';
import type { ExplainSettings } from './explain/settings.js';
import { findName } from './find-name.js';
import { type EncodedNewNodes, readAndEncode, rowsWithNew } from './new-nodes.js';
import { bestColumns, predictNodes, withTestSet } from './predict-split.js';
import type {
  Ability,
  ClassifiedName,
  EdgeName,
  Name,
  NeighborOptions,
  NewNodes,
  RankedName,
  RankOptions,
  RankQuestion,
  RecommendOptions,
  ScoreOptions,
} from './predictor.js';
import { readRunMetrics } from './run-metrics.js';
import { type LinkQuestion, nearestNodes, rowsOf, scoreEdges, topLinks } from './top-nodes.js';

/** How messages name arguments: as fields of questions, or as options of a command. */
export interface MessageNames {
  readonly command?: string;
  readonly prefix?: '' | '--';
}

interface GraphNames {
  readonly nodes: NameTable;
  readonly relations: NameTable | null;
  readonly classes: readonly string[];
}

/** A question for an end of edges, by ids. */
type AskedEnd = Pick<LinkQuestion, 'node' | 'relation' | 'want'>;

export class GraphPredictor extends BasePredictor {
  readonly run: OpenedGraphRun;
  override readonly metrics: Readonly<Record<string, Metrics>>;
  override readonly classes: readonly string[];
  readonly #names: GraphNames;
  readonly #messageNames: Required<MessageNames>;
  #scale: Promise<LinkCalibration> | null = null;

  private constructor(run: OpenedGraphRun, names: GraphNames, { command, prefix }: MessageNames) {
    super();
    this.run = run;
    this.metrics = readRunMetrics(run, run.task.headline);
    this.classes = names.classes;
    this.#names = names;
    this.#messageNames = { command: command ?? 'predict', prefix: prefix ?? '' };
  }

  static async open(run: OpenedGraphRun, messageNames: MessageNames = {}): Promise<GraphPredictor> {
    const { dataset } = run;
    const classes = run.kind === 'nodes' ? await dataset.classNames() : null;
    return new GraphPredictor(
      run,
      {
        nodes: await dataset.nodeNames(),
        relations: dataset.hasRelations ? await dataset.relationNames() : null,
        classes: Array.from({ length: classes?.size ?? 0 }, (_, id) => (classes as NameTable).nameOf(id)),
      },
      messageNames,
    );
  }

  override get kind(): 'links' | 'nodes' {
    return this.run.kind;
  }

  /** Whether there are enough validation edges to fit probabilities. */
  override get calibrated(): boolean {
    return canCalibrate(this.run);
  }

  /** The relation of a graph that has only one. */
  get onlyRelation(): string | undefined {
    const { relations } = this.#names;
    return relations?.size === 1 ? relations.nameOf(0) : undefined;
  }

  override get answers(): readonly Ability[] {
    return this.kind === 'links'
      ? ['score', 'rank', 'recommend', 'neighbors', 'embed', 'explain']
      : ['classify', 'neighbors', 'embed', 'explain'];
  }

  /** Returns the id of a node; an unknown name is an error with similar ones. */
  nodeId(name: Name): number {
    return this.#node('node', name);
  }

  protected override async scoreList(
    edges: readonly EdgeName[],
    { unit, unknown = 'error', newNodes }: ScoreOptions,
  ): Promise<Float32Array> {
    checkTimeless('score', 'edges', edges);
    const added = newNodes === undefined ? null : await this.#encode('score', 'newNodes.', newNodes);
    const names = added?.names ?? this.#names.nodes;
    const scores = new Float32Array(edges.length).fill(Number.NaN);
    const known = Array.from(edges.keys()).filter(
      (i) => unknown === 'error' || this.#isKnown(edges[i], names),
    );
    const src = Int32Array.from(known, (i) => this.#node('head', edges[i].head, 'src', names));
    const dst = Int32Array.from(known, (i) => this.#node('tail', edges[i].tail, 'dst', names));
    const relations = this.#relations(known.map((i) => edges[i].relation));
    const rows = added === null ? undefined : (ids: Int32Array) => rowsWithNew(this.run, ids, added);
    const found = await scoreEdges(this.run, { src, dst, relations }, { rows });
    const scale = unit === 'probability' ? await this.#calibration() : null;
    for (const [at, i] of known.entries())
      scores[i] = scale === null ? found[at] : scale.probability(found[at], relations?.[at] ?? null);
    return scores;
  }

  protected override async rankList(
    questions: readonly RankQuestion[],
    options: RankOptions,
  ): Promise<RankedName[][]> {
    checkTimeless('rank', 'questions', questions);
    return this.#rank(
      questions.map((question) => this.#ask(question)),
      options,
    );
  }

  protected override async recommendList(
    names: readonly Name[],
    { k = 10, exclude = 'seen', relation, time }: RecommendOptions,
  ): Promise<RankedName[][]> {
    if (time !== undefined) throw noTime('recommend', 'time', time);
    const by = this.#relation(relation);
    return this.#rank(
      names.map((name) => ({ node: this.#node('name', name, 'src'), relation: by, want: 'tail' })),
      { k, includeKnown: exclude === 'none' },
    );
  }

  /** Returns a question by ids. */
  #ask({ head, tail, relation }: RankQuestion): AskedEnd {
    if ((head === undefined) === (tail === undefined))
      throw new ValueError(
        `${this.#messageNames.command}: expected either head or tail in a question, got ${head === undefined ? 'neither' : 'both'}. Leave out the end to predict.`,
      );
    return {
      node: tail === undefined ? this.#node('head', head as Name, 'src') : this.#node('tail', tail, 'dst'),
      relation: this.#relation(relation),
      want: tail === undefined ? 'tail' : 'head',
    };
  }

  async #rank(
    questions: readonly AskedEnd[],
    { k = 10, includeKnown = false, candidates = 'seen' }: RankOptions,
  ): Promise<RankedName[][]> {
    const known = await this.#knownEnds(questions);
    const seen = candidates === 'all' ? null : await this.run.storage.candidates();
    const best = await topLinks(
      this.run,
      questions.map(({ node, relation, want }, i) => ({
        ...{ node, relation, want, count: k, among: seen?.of(relation ?? 0, want) ?? null },
        ...(includeKnown ? {} : { exclude: known[i].add(node) }),
      })),
    );
    const scale = this.calibrated ? await this.#calibration() : null;
    const probability = (score: number, { relation, want }: AskedEnd) =>
      scale === null ? {} : { probability: scale.probability(score, relation, want) };
    return best.map((nodes, i) =>
      nodes.map(({ id, score }) => ({
        ...{ name: this.#names.nodes.nameOf(id), score, ...probability(score, questions[i]) },
        ...(includeKnown ? { known: known[i].has(id) } : {}),
      })),
    );
  }

  protected override async neighborList(
    names: readonly Name[],
    { k = 10 }: NeighborOptions,
  ): Promise<RankedName[][]> {
    const nodes = Int32Array.from(names, (name) => this.#node('neighbors', name));
    const near = await nearestNodes(this.run, nodes, k);
    return near.map((found) => found.map(({ id, score }) => ({ name: this.#names.nodes.nameOf(id), score })));
  }

  protected override async classifyList(names: readonly Name[]): Promise<ClassifiedName[]> {
    if (names.length === 0) return [];
    const nodes = Int32Array.from(names, (name) => this.#node('name', name));
    const source = await withTestSet(this.run, { nodes });
    const found: ClassifiedName[] = [];
    await predictNodes(source, this.run.model as NodeClassificationModel, ({ nodes: ids, logits }) => {
      const asked = Array.from(ids, (id) => this.#names.nodes.nameOf(id));
      found.push(...this.#classified(asked, logits));
    });
    return found;
  }

  protected override async classifyNew(given: NewNodes): Promise<ClassifiedName[]> {
    const { rows, width, added } = await this.#encode('classify', '', given);
    return scope(() => this.#classified(added, fromTypedArray(rows, [added.length, width])));
  }

  /** Returns the classes of nodes by their scores [nodes, classes]. */
  #classified(names: readonly string[], logits: Tensor): ClassifiedName[] {
    const probabilities = scope(() => softmax(logits, 1).dataSync().slice() as Float32Array);
    const width = logits.shape[1];
    const classes = bestColumns(logits);
    return names.map((name, i) => ({
      name,
      class: this.classes[classes[i]] ?? String(classes[i]),
      probabilities: probabilities.subarray(i * width, (i + 1) * width),
    }));
  }

  protected override async embedList(names: readonly Name[]): Promise<Float32Array[]> {
    const ids = Int32Array.from(names, (name) => this.#node('name', name));
    const { rows, width } = await rowsOf(this.run, ids);
    return names.map((_, i) => rows.slice(i * width, (i + 1) * width));
  }

  protected override explainNode(node: Name, settings: ExplainSettings): Promise<NodeExplanation> {
    return explainNodeByName(this.run, this.nodeId(node), this.#names, settings);
  }

  protected override async explainEdge(edge: EdgeName, settings: ExplainSettings): Promise<LinkExplanation> {
    checkTimeless('explain', 'edges', [edge]);
    const asked = {
      src: this.#node('head', edge.head, 'src'),
      dst: this.#node('tail', edge.tail, 'dst'),
      relation: this.#relation(edge.relation),
    };
    const [score] = await this.scoreList([edge], {});
    const scale = this.calibrated ? await this.#calibration() : null;
    const probability = scale === null ? {} : { probability: scale.probability(score, asked.relation) };
    return explainLinkByName(this.run, asked, { score, ...probability }, this.#names, settings);
  }

  /** Fits probabilities at the first request. */
  #calibration(): Promise<LinkCalibration> {
    this.#scale ??= LinkCalibration.fit(this.run).catch((error: unknown) => {
      // A file that could not be read is read again at the next question.
      this.#scale = null;
      throw error;
    });
    return this.#scale;
  }

  protected override release(): Promise<void> {
    return this.run.close();
  }

  #encode(where: 'score' | 'classify', prefix: string, given: NewNodes): Promise<EncodedNewNodes> {
    const relationOf = (raw: Name | undefined): number | null => this.#relation(raw);
    return readAndEncode(this.run, given, { where, prefix, names: this.#names.nodes, relationOf });
  }

  #node(field: string, raw: Name, side?: 'src' | 'dst', names: NameTable = this.#names.nodes): number {
    const { command, prefix } = this.#messageNames;
    return findName(names, {
      ...{ command, raw: String(raw), side, option: `${prefix}${field}`, what: 'an entity' },
    });
  }

  /** Returns whether the graph has the names of an edge. */
  #isKnown({ head, tail, relation }: EdgeName, nodes: NameTable): boolean {
    const { relations } = this.#names;
    return (
      nodes.idOf(String(head), 'src') !== undefined &&
      nodes.idOf(String(tail), 'dst') !== undefined &&
      (relation === undefined || relations === null || relations.idOf(String(relation)) !== undefined)
    );
  }

  #relations(given: readonly (Name | undefined)[]): Int32Array | null {
    const ids = given.map((relation) => this.#relation(relation));
    return this.#names.relations === null ? null : Int32Array.from(ids as number[]);
  }

  /** Returns the relation of a question; it may be omitted if the graph has only one. */
  #relation(raw: Name | undefined): number | null {
    const { relations } = this.#names;
    const { command, prefix } = this.#messageNames;
    if (relations === null) {
      if (raw === undefined) return null;
      throw new ValueError(
        `${command}: expected no ${prefix}relation for a graph whose edges have none, got ${JSON.stringify(raw)}. Leave it out.`,
      );
    }
    if (raw !== undefined)
      return findName(relations, {
        command,
        raw: String(raw),
        option: `${prefix}relation`,
        what: 'a relation',
      });
    if (relations.size === 1) return 0;
    const some = Array.from({ length: Math.min(relations.size, 8) }, (_, id) => relations.nameOf(id)).sort();
    throw new ValueError(
      `${command}: expected a relation for ${prefix}relation, got none. There are ${relations.size}, for example ${some.join(', ')}.`,
    );
  }

  /** Returns the other endpoints of true edges, of all splits, for each question. */
  async #knownEnds(questions: readonly AskedEnd[]): Promise<Set<number>[]> {
    const own = Int32Array.from(questions, ({ node }) => node);
    const relations =
      this.#names.relations === null
        ? null
        : Int32Array.from(questions, ({ relation }) => relation as number);
    const { destinations, sources } = await this.run.storage.trueEnds({ src: own, dst: own, relations });
    return questions.map(({ want }, i) => {
      const { ids, offsets } = want === 'tail' ? destinations : sources;
      return new Set(ids.subarray(offsets[i], offsets[i + 1]));
    });
  }
}

/** Throws if an edge has a time, which would be ignored. */
function checkTimeless(where: string, list: string, edges: readonly RankQuestion[]): void {
  const timed = edges.findIndex(({ time }) => time !== undefined);
  if (timed >= 0) throw noTime(where, `${list}[${timed}].time`, edges[timed].time);
}

function noTime(where: string, name: string, time: unknown): ValueError {
  return new ValueError(expected(where, 'no time', name, time, 'Edges of a graph have none; leave it out.'));
}
