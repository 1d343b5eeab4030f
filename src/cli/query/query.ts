/** The work of `skein query`: asks a trained model of any kind by raw names and prints names. */
import { readGlosses } from '../../data/prepare/glosses.js';
import { EventPredictor } from '../../predict/event-predictor.js';
import { GraphPredictor } from '../../predict/graph-predictor.js';
import type { Predictor } from '../../predict/index.js';
import { runPath } from '../../predict/open-model.js';
import { Output, onlineScorer, openRun } from '../../train/index.js';
import { checkInteger, ValueError } from '../../util/errors.js';
import type { PluginOptions } from '../options/options.js';
import { type Answer, type AskOptions, askAll, findWrong } from './answers.js';
import { printClassified, printRanked, titleOf } from './print-answers.js';
import { kindOf, parseTime, type Question, type QuestionKind, readQuestions } from './questions.js';

export interface QueryCommand extends PluginOptions {
  readonly head?: string;
  readonly tail?: string;
  readonly relation?: string;
  readonly neighbors?: string;
  readonly classify?: string;
  readonly time?: string;
  /** A file of questions. */
  readonly questions?: string;
  readonly top: number;
  readonly includeKnown: boolean;
  readonly allCandidates: boolean;
  readonly json: boolean;
  readonly set: readonly string[];
}

/** Questions of a file that are asked in one call. */
const slice = 500;

export async function queryCommand(path: string, command: QueryCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const asked = command.questions === undefined ? [{ question: askedBy(command), line: 0 }] : null;
  if (asked === null) checkAlone(command);
  const listed = asked ?? (await readQuestions(command.questions as string));
  const options: AskOptions = {
    k: checkInteger('query', '--top', command.top, 1),
    includeKnown: command.includeKnown,
    candidates: command.allCandidates ? 'all' : 'seen',
    prefix: command.questions === undefined ? '--' : '',
  };
  const { model, directory } = await openQueried(path, command, output);
  try {
    const printer = new Printer(model, directory, output, options.k);
    if (asked !== null) {
      const [answer] = await askAll(model, [asked[0].question], options);
      const { query, answers } = await printer.print(answer);
      for (const row of answers) output.event('answer', { ...row });
      output.event('done', { query, ...asked[0].question, answers });
      return;
    }
    for (let from = 0; from < listed.length; from += slice) {
      const some = listed.slice(from, from + slice);
      const questions = some.map(({ question }) => question);
      const found = await askAll(model, questions, options).catch(async (error: unknown) => {
        await findWrong(model, some, options, command.questions as string);
        throw error;
      });
      for (const [i, answer] of found.entries())
        output.event('answers', {
          ...{ line: some[i].line, ...answer.question },
          ...(await printer.print(answer)),
        });
    }
    output.event('done', { questions: listed.length });
  } finally {
    await model.close();
  }
}

/** Returns the question of the options. */
function askedBy({ head, tail, relation, neighbors, classify, time }: QueryCommand): Question {
  const given = Object.entries({ head, tail, relation, neighbors, classify }).filter(
    ([, value]) => value !== undefined,
  );
  const question: Question = {
    ...Object.fromEntries(given),
    ...(time === undefined ? {} : { time: parseTime('query', time, '--time') }),
  };
  if (kindOf(question) !== undefined) return question;
  const asked = given.filter(([name]) => name !== 'relation').map(([name]) => `--${name}`);
  throw new ValueError(
    `query: expected one of --head, --tail, --neighbors, --classify and --questions, got ${asked.length === 0 ? 'none' : asked.join(' and ')}. --head ranks tails, --tail ranks heads.`,
  );
}

function checkAlone(command: QueryCommand): void {
  const others = (['head', 'tail', 'relation', 'neighbors', 'classify', 'time'] as const).filter(
    (name) => command[name] !== undefined,
  );
  if (others.length > 0)
    throw new ValueError(
      `query: expected --questions alone, got --${others.join(', --')} as well. Write them into the questions.`,
    );
}

async function openQueried(
  path: string,
  command: QueryCommand,
  output: Output,
): Promise<{ readonly model: Predictor; readonly directory: string | null }> {
  const run = await openRun(runPath(path), {
    command: 'query',
    overrides: command.set,
    plugins: command.plugin,
    onWarning: (message) => output.warn(message),
  });
  try {
    if (run.kind === 'events')
      return { model: new EventPredictor(run, onlineScorer(run, 'query')), directory: null };
    const model = await GraphPredictor.open(run, {
      command: 'query',
      prefix: command.questions === undefined ? '--' : '',
    });
    return { model, directory: run.dataset.directory };
  } catch (error) {
    await run.close();
    throw error;
  }
}

class Printer {
  readonly #model: Predictor;
  readonly #directory: string | null;
  readonly #output: Output;
  readonly #k: number;

  /** @param directory the dataset, which may have glosses; null without one. */
  constructor(model: Predictor, directory: string | null, output: Output, k: number) {
    this.#model = model;
    this.#directory = directory;
    this.#output = output;
    this.#k = k;
  }

  /** Prints an answer; returns it for `--json`. */
  async print(answer: Answer): Promise<{ readonly query: string; readonly answers: readonly object[] }> {
    const { question } = answer;
    const only = this.#model instanceof GraphPredictor ? this.#model.onlyRelation : undefined;
    const query = titleOf(question, only);
    if ('classified' in answer) {
      const { classes } = this.#model;
      const shown = printClassified(this.#output, query, answer.classified, { classes, k: this.#k });
      return { query, answers: [shown] };
    }
    const own = question[kindOf(question) as QuestionKind] as string;
    const names = new Set([own, ...answer.ranked.map(({ name }) => name)]);
    const glosses = this.#directory === null ? new Map() : await readGlosses(this.#directory, names);
    return { query, answers: printRanked(this.#output, query, own, answer.ranked, glosses) };
  }
}
