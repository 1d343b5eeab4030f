/** Predictor of link and node models of a prepared graph, by names. */
import type { NameTable } from '../data/prepare/name-table.js';
import { scope, softmax } from '../tensor/index.js';
import { type Metrics, NodeClassificationModel, type OpenedGraphRun } from '../train/index.js';
import { positionIn } from '../train/tasks/links/candidates.js';
import { expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkCount, checkEdges, checkNames, checkQuestions } from './check-questions.js';
import { findName } from './find-name.js';
import { predictNodes, withTestSet } from './predict-split.js';
import {
  type Ability,
  BasePredictor,
  type ClassifiedName,
  type EdgeName,
  type Name,
  type NeighborOptions,
  type RankedName,
  type RankOptions,
  type RankQuestion,
  readRunMetrics,
} from './predictor.js';
import { nearestNodes, rowsOf, scoreEdges, topLinks } from './top-nodes.js';

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

export class GraphPredictor extends BasePredictor {
  readonly run: OpenedGraphRun;
  override readonly metrics: Readonly<Record<string, Metrics>>;
  override readonly classes: readonly string[];
  readonly #names: GraphNames;
  readonly #messageNames: Required<MessageNames>;

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

  /** The relation of a graph that has only one. */
  get onlyRelation(): string | undefined {
    const { relations } = this.#names;
    return relations?.size === 1 ? relations.nameOf(0) : undefined;
  }

  override get answers(): readonly Ability[] {
    return this.kind === 'links'
      ? ['score', 'rank', 'neighbors', 'embed']
      : ['classify', 'neighbors', 'embed'];
  }

  override async score(edges: readonly EdgeName[]): Promise<Float32Array> {
    this.checkOpen('score');
    if (this.kind !== 'links') return super.score(edges);
    checkEdges('score', edges);
    const src = Int32Array.from(edges, ({ head }) => this.#node('head', head, 'src'));
    const dst = Int32Array.from(edges, ({ tail }) => this.#node('tail', tail, 'dst'));
    const relations = edges.map(({ relation }) => this.#relation(relation));
    return scoreEdges(
      this.run,
      src,
      dst,
      this.#names.relations === null ? null : Int32Array.from(relations as number[]),
    );
  }

  override async rank(
    questions: readonly RankQuestion[],
    options: RankOptions = {},
  ): Promise<RankedName[][]> {
    this.checkOpen('rank');
    if (this.kind !== 'links') return super.rank(questions, options);
    checkOptionNames('rank', options, { k: true, includeKnown: true, candidates: true });
    if (!['seen', 'all', undefined].includes(options.candidates))
      throw new ValueError(expected('rank', 'seen or all', 'candidates', options.candidates));
    checkQuestions('rank', questions);
    checkCount('rank', options);
    const found: RankedName[][] = [];
    for (const question of questions) found.push(await this.#rank(question, options));
    return found;
  }

  async #rank(
    question: RankQuestion,
    { k = 10, includeKnown = false, candidates = 'seen' }: RankOptions,
  ): Promise<RankedName[]> {
    const { head, tail } = question;
    if ((head === undefined) === (tail === undefined))
      throw new ValueError(
        `${this.#messageNames.command}: expected either head or tail in a question, got ${head === undefined ? 'neither' : 'both'}. Leave out the end to predict.`,
      );
    const want = head === undefined ? 'head' : 'tail';
    const node =
      want === 'tail' ? this.#node('head', head as Name, 'src') : this.#node('tail', tail as Name, 'dst');
    const relation = this.#relation(question.relation);
    const known = await this.#knownEnds(node, relation, want);
    const among = candidates === 'all' ? null : (await this.run.storage.candidates()).of(relation ?? 0, want);
    const skip = (id: number): boolean => {
      if (known.has(id)) return !includeKnown;
      if (id === node && !includeKnown) return true;
      return among !== null && positionIn(among, id) < 0;
    };
    const best = await topLinks(this.run, { node, relation, want, count: k, skip });
    return best.map(({ id, score }) => ({
      ...{ name: this.#names.nodes.nameOf(id), score },
      ...(includeKnown ? { known: known.has(id) } : {}),
    }));
  }

  override async neighbors(names: readonly Name[], options: NeighborOptions = {}): Promise<RankedName[][]> {
    this.checkOpen('neighbors');
    checkOptionNames('neighbors', options, { k: true });
    checkNames('neighbors', names);
    const count = checkCount('neighbors', options);
    const found: RankedName[][] = [];
    for (const name of names) {
      const node = this.#node('neighbors', name);
      const near = await nearestNodes(this.run, node, { count, skip: (id) => id === node });
      found.push(near.map(({ id, score }) => ({ name: this.#names.nodes.nameOf(id), score })));
    }
    return found;
  }

  override async classify(names: readonly Name[]): Promise<ClassifiedName[]> {
    this.checkOpen('classify');
    const { model } = this.run;
    if (!(model instanceof NodeClassificationModel)) return super.classify(names);
    checkNames('classify', names);
    if (names.length === 0) return [];
    const nodes = Int32Array.from(names, (name) => this.#node('name', name));
    const source = await withTestSet(this.run, { nodes });
    const found: ClassifiedName[] = [];
    await predictNodes(source, model, ({ nodes: ids, classes, logits }) => {
      const probabilities = scope(() => softmax(logits, 1).dataSync().slice() as Float32Array);
      const width = logits.shape[1];
      for (const [i, id] of ids.entries())
        found.push({
          name: this.#names.nodes.nameOf(id),
          class: this.classes[classes[i]] ?? String(classes[i]),
          probabilities: probabilities.subarray(i * width, (i + 1) * width),
        });
    });
    return found;
  }

  override async embed(names: readonly Name[]): Promise<Float32Array[]> {
    this.checkOpen('embed');
    checkNames('embed', names);
    const ids = Int32Array.from(names, (name) => this.#node('name', name));
    const { rows, width } = await rowsOf(this.run, ids);
    return names.map((_, i) => rows.slice(i * width, (i + 1) * width));
  }

  protected override release(): Promise<void> {
    return this.run.close();
  }

  #node(field: string, raw: Name, side?: 'src' | 'dst'): number {
    const { command, prefix } = this.#messageNames;
    return findName(this.#names.nodes, {
      ...{ command, raw: String(raw), side, option: `${prefix}${field}`, what: 'an entity' },
    });
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

  /** Returns the other endpoints of true edges, of all splits. */
  async #knownEnds(node: number, relation: number | null, want: 'head' | 'tail'): Promise<Set<number>> {
    const relations = relation === null ? null : Int32Array.of(relation);
    const own = Int32Array.of(node);
    const { destinations, sources } = await this.run.storage.trueEnds({ src: own, dst: own, relations });
    return new Set((want === 'tail' ? destinations : sources).ids);
  }
}
