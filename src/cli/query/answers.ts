/** Asks a predictor the questions of `skein query`: those of a kind in one call. */
import type { ClassifiedName, Predictor, RankedName } from '../../predict/index.js';
import { StateError, ValueError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';
import { kindOf, type Question, type QuestionKind } from './questions.js';

export interface AskOptions {
  readonly k: number;
  readonly includeKnown: boolean;
  readonly candidates: 'seen' | 'all';
  /** The prefix of field names in messages: `--` for options. */
  readonly prefix: string;
}

/** The answer to a question: a ranking, or the class of a node. */
export type Answer =
  | { readonly question: Question; readonly ranked: readonly RankedName[] }
  | { readonly question: Question; readonly classified: ClassifiedName };

/** Answers questions in their order. */
export async function askAll(
  model: Predictor,
  questions: readonly Question[],
  options: AskOptions,
): Promise<Answer[]> {
  const { k, includeKnown, candidates } = options;
  const answers = new Map<Question, Answer>();
  const of = (...wanted: QuestionKind[]): Question[] =>
    questions.filter((question) => wanted.includes(kindOf(question) as QuestionKind));
  const ranks = of('head', 'tail');
  for (const kind of ['head', 'tail', 'neighbors', 'classify'] as const)
    if (of(kind).length > 0) checkAbility(model, kind);
  const rows =
    ranks.length === 0
      ? []
      : await model.rank(ranks, { k, includeKnown, candidates }).catch(rethrowForTime(options));
  for (const [i, question] of ranks.entries()) answers.set(question, { question, ranked: rows[i] });
  const near = of('neighbors');
  const names = near.map(({ neighbors }) => neighbors as string);
  const found = names.length === 0 ? [] : await model.neighbors(names, { k });
  for (const [i, question] of near.entries()) answers.set(question, { question, ranked: found[i] });
  const nodes = of('classify');
  const classes = nodes.length === 0 ? [] : await model.classify(nodes.map((one) => one.classify as string));
  for (const [i, question] of nodes.entries()) answers.set(question, { question, classified: classes[i] });
  return questions.map((question) => answers.get(question) as Answer);
}

/** Returns a function that rethrows an error of the scorer about a time with the name that the user has given it. */
function rethrowForTime({ prefix }: AskOptions): (error: unknown) => never {
  return (error) => {
    if (error instanceof ValueError)
      error.message = error.message.replace(/^score: (.* for )t(?=, got )/, `query: $1${prefix}time`);
    throw error;
  };
}

/** Throws for a kind of question that a run does not answer, with the options that it does. */
function checkAbility({ kind, answers }: Predictor, asked: QuestionKind): void {
  const ability = asked === 'head' || asked === 'tail' ? 'rank' : asked;
  if (answers.includes(ability) && !(kind === 'events' && asked === 'tail')) return;
  const use = {
    links: 'Use --head, --tail or --neighbors',
    nodes: `Use --classify or --neighbors, or "${invocation()} predict"`,
    events: `Use --head, with --time where needed, or score pairs with "${invocation()} predict <run> --input-file <file>"`,
  };
  const wanted = ability === 'rank' ? 'links' : ability === 'classify' ? 'nodes' : 'links or nodes';
  const options = asked === 'head' ? '--head and --tail' : `--${asked}`;
  throw new StateError(
    `query: expected a model of ${wanted} for ${options}, got a model of ${kind}. ${use[kind]}.`,
  );
}

/** Asks one question after the other, to name the line of the one that fails. */
export async function findWrong(
  model: Predictor,
  questions: readonly { readonly question: Question; readonly line: number }[],
  options: AskOptions,
  path: string,
): Promise<void> {
  for (const { question, line } of questions) {
    try {
      await askAll(model, [question], options);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      throw new ValueError(`${path}:${line}: ${error.message}`, { ...error.details, path, line });
    }
  }
}
