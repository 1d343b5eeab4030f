/**
 * The questions that a served model answers, over HTTP and as tools of `skein mcp`: the schema of the body, the schema of the
 * answer, and the call of the predictor. Bodies mirror the objects of the library.
 */
import { z } from '@hono/zod-openapi';
import type {
  Ability,
  ClassifiedName,
  EdgeName,
  NeighborOptions,
  NewNodes,
  RankOptions,
  RankQuestion,
  RecommendOptions,
  ScoreOptions,
} from '../predict/index.js';
import {
  choice,
  count,
  edge,
  flag,
  list,
  name,
  newNodes,
  object,
  question,
  rankedLists,
  time,
  toTime,
} from './body-schemas.js';
import { explainOperation } from './explain-operation.js';
import { HttpError } from './http-error.js';
import type { ServeLimits } from './limits.js';
import type { ModelSession } from './served-model.js';

/** The endpoint or tool, the same as the ability of a model that it needs. */
export type OperationName = Exclude<Ability, 'append'>;

export interface Operation {
  readonly name: OperationName;
  readonly summary: string;
  readonly body: z.ZodObject;
  readonly answer: z.ZodType;
  readonly example: Readonly<Record<string, unknown>>;
  /** Answers a body that `body` has checked. */
  run(session: ModelSession, body: never): Promise<unknown>;
}

function operation<S extends z.ZodObject>(given: {
  readonly name: OperationName;
  readonly summary: string;
  readonly body: S;
  readonly answer: z.ZodType;
  readonly example: Readonly<Record<string, unknown>>;
  run(session: ModelSession, body: z.output<S>): Promise<unknown>;
}): Operation {
  return given;
}

/** Returns the operations; their schemas contain the limits. */
export function operations(limits: ServeLimits): Operation[] {
  const names = list(name, 'names', limits.maxQuestions);
  const k = count(limits);
  return [
    score(limits),
    rank(limits),
    neighbors(names, k, limits),
    classify(names, limits),
    embed(names),
    recommend(names, k, limits),
    operation(explainOperation),
  ];
}

function score(limits: ServeLimits): Operation {
  return operation({
    name: 'score',
    summary: 'Score edges, or events at a time: the higher, the more likely',
    body: object({
      edges: list(edge, 'edges', limits.maxEdges),
      unit: choice(['score', 'probability']).optional(),
      unknown: choice(['error', 'skip'])
        .optional()
        .openapi({ description: 'What an unknown name does: fail, or give its edge the score null' }),
      newNodes: object(newNodes(limits)).optional(),
    }),
    answer: z
      .object({ scores: z.array(z.number().nullable()) })
      .openapi('Scores', { description: 'One score per edge' }),
    example: { edges: [{ head: 'ana', relation: 'knows', tail: 'carl' }] },
    async run(session, { edges: given, ...options }) {
      const edges = given.map(withTime) as EdgeName[];
      const used = defined<ScoreOptions>(options);
      if (used.newNodes !== undefined)
        return { scores: Array.from(await session.whole('score', (model) => model.score(edges, used))) };
      // An event model takes a time for all edges of a call or for none; a slice does not know the others of its request.
      const timed = edges[0].time !== undefined;
      const isMixed = edges.some(({ time }) => (time !== undefined) !== timed);
      if (isMixed && session.predictor.kind === 'events')
        throw new HttpError(
          400,
          'invalid',
          'edges: expected a time for all edges or for none, got some. Add the missing ones.',
        );
      const scores = await session.each('score', `${timed} ${JSON.stringify(used)}`, edges, (model, some) =>
        model.score(some, used),
      );
      return { scores };
    },
  });
}

function rank(limits: ServeLimits): Operation {
  return operation({
    name: 'rank',
    summary: 'Find the most likely missing ends of edges',
    body: object({
      questions: list(question, 'questions', limits.maxQuestions),
      k: count(limits),
      includeKnown: flag.optional().openapi({ description: 'Include edges of the graph (default false)' }),
      candidates: choice(['seen', 'all'])
        .optional()
        .openapi({ description: 'Nodes seen at that end of the relation (default), or all' }),
    }),
    answer: rankedLists,
    example: { questions: [{ head: 'ana', relation: 'knows' }], k: 3 },
    async run(session, { questions: given, ...options }) {
      checkAnswers(given.length, options.k, limits);
      const questions = given.map(withTime) as RankQuestion[];
      const used = defined<RankOptions>(options);
      const answers = await session.each('rank', JSON.stringify(used), questions, (model, some) =>
        model.rank(some, used),
      );
      return { answers };
    },
  });
}

type Names = ReturnType<typeof list<typeof name>>;
type Count = ReturnType<typeof count>;

function neighbors(names: Names, k: Count, limits: ServeLimits): Operation {
  return operation({
    name: 'neighbors',
    summary: 'Find the most similar nodes',
    body: object({ names, k }),
    answer: rankedLists,
    example: { names: ['ana'], k: 3 },
    async run(session, { names: given, ...options }) {
      checkAnswers(given.length, options.k, limits);
      const used = defined<NeighborOptions>(options);
      const answers = await session.each('neighbors', JSON.stringify(used), given, (model, some) =>
        model.neighbors(some, used),
      );
      return { answers };
    },
  });
}

function classify(names: Names, limits: ServeLimits): Operation {
  const { nodes, edges } = newNodes(limits);
  return operation({
    name: 'classify',
    summary: 'Classify nodes by name, or new nodes from their columns and edges',
    body: object({ names: names.optional(), nodes: nodes.optional(), edges }),
    answer: z
      .object({
        classes: z.array(z.string()),
        answers: z.array(
          z.object({ name: z.string(), class: z.string(), probabilities: z.array(z.number()) }),
        ),
      })
      .openapi('Classes', { description: 'Probabilities in the order of classes' }),
    example: { names: ['c4'] },
    async run(session, { names: given, nodes: rows, edges: ends }) {
      if ((given === undefined) === (rows === undefined))
        throw new HttpError(
          400,
          'invalid',
          `body: expected either names or nodes, got ${given === undefined ? 'neither' : 'both'}.`,
        );
      if (given !== undefined && ends !== undefined)
        throw new HttpError(400, 'invalid', 'edges: expected edges of new nodes, got names without nodes.');
      const found =
        rows === undefined
          ? await session.each('classify', '', given as (string | number)[], (model, some) =>
              model.classify(some),
            )
          : await session.whole('classify', (model) =>
              model.classify(defined<NewNodes>({ nodes: rows, edges: ends })),
            );
      const answers = (found as ClassifiedName[]).map((one) => ({
        ...one,
        probabilities: Array.from(one.probabilities),
      }));
      return { classes: session.predictor.classes, answers };
    },
  });
}

function embed(names: Names): Operation {
  return operation({
    name: 'embed',
    summary: 'Return the vectors of nodes',
    body: object({ names }),
    answer: z.object({ vectors: z.array(z.array(z.number())) }).openapi('Vectors'),
    example: { names: ['ana'] },
    async run(session, { names: given }) {
      const rows = await session.each('embed', '', given, (model, some) => model.embed(some));
      return { vectors: (rows as Float32Array[]).map((row) => Array.from(row)) };
    },
  });
}

function recommend(names: Names, k: Count, limits: ServeLimits): Operation {
  return operation({
    name: 'recommend',
    summary: 'Recommend tails for nodes, such as items for users',
    body: object({
      names,
      k,
      exclude: choice(['seen', 'none'])
        .optional()
        .openapi({ description: 'What to leave out: what the node already has an edge to, or nothing' }),
      relation: name.optional(),
      time: time.optional(),
    }),
    answer: rankedLists,
    example: { names: ['ana'], k: 3 },
    async run(session, { names: given, ...options }) {
      checkAnswers(given.length, options.k, limits);
      const used = defined<RecommendOptions>(withTime(options));
      const answers = await session.each('recommend', JSON.stringify(used), given, (model, some) =>
        model.recommend(some, used),
      );
      return { answers };
    },
  });
}

function withTime<T extends { readonly time?: number | string | undefined }>(given: T) {
  return given.time === undefined ? given : { ...given, time: toTime(given.time) };
}

/** Drops keys without a value, which the options of predictors do not have. */
function defined<T extends object>(given: object): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}

function checkAnswers(questions: number, k = 10, { maxAnswers }: ServeLimits): void {
  if (questions * k > maxAnswers)
    throw new HttpError(
      400,
      'invalid',
      `k: expected at most ${maxAnswers.toLocaleString('en')} answers, got ${questions} questions of ${k}. Ask for fewer.`,
    );
}
