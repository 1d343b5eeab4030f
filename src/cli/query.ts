/** The work of `skein query`: queries a trained run by raw names and prints names. */
import { readGlosses } from '../data/prepare/glosses.js';
import { GraphPredictor } from '../predict/graph-predictor.js';
import type { RankedName } from '../predict/index.js';
import { Output, openRun } from '../train/index.js';
import { checkInteger, StateError, ValueError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';
import type { PluginOptions } from './options/options.js';

export interface QueryCommand extends PluginOptions {
  readonly head?: string;
  readonly tail?: string;
  readonly relation?: string | undefined;
  readonly neighbors?: string;
  readonly top: number;
  readonly includeKnown: boolean;
  readonly allCandidates: boolean;
  readonly json: boolean;
  readonly set: readonly string[];
}

export async function queryCommand(path: string, command: QueryCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const given = (['head', 'tail', 'neighbors'] as const).filter((name) => command[name] !== undefined);
  if (given.length !== 1)
    throw new ValueError(
      `query: expected one of --head, --tail and --neighbors, got ${given.length === 0 ? 'none' : given.map((name) => `--${name}`).join(' and ')}. --head ranks tails, --tail ranks heads.`,
    );
  const [kind] = given;
  const run = await openRun(path, {
    ...{ command: 'query', over: 'graph' },
    advice: `Rank destinations with "${invocation()} serve --temporal <run>" and POST /recommend, or score pairs with "${invocation()} predict <run> --input-file <file>".`,
    overrides: command.set,
    plugins: command.plugin,
    onWarning: (message) => output.warn(message),
  });
  try {
    const raw = command[kind] as string;
    const model = await GraphPredictor.open(run, { command: 'query', prefix: '--' });
    const { answers, relation } = await ask(model, command, kind, raw);
    await print(model, output, title(relation, kind, raw), raw, answers);
  } finally {
    await run.close();
  }
}

async function ask(
  model: GraphPredictor,
  { relation, includeKnown, allCandidates, top }: QueryCommand,
  kind: 'head' | 'tail' | 'neighbors',
  raw: string,
): Promise<{ readonly answers: readonly RankedName[]; readonly relation: string | undefined }> {
  const k = checkInteger('query', '--top', top, 1);
  if (kind === 'neighbors') return { answers: (await model.neighbors([raw], { k }))[0], relation };
  if (model.kind === 'nodes')
    throw new StateError(
      `query: expected a run of LINK_PREDICTION for --head and --tail, got a run of NODE_CLASSIFICATION. Use --neighbors, or "${invocation()} predict".`,
    );
  const edge = relation === undefined ? { [kind]: raw } : { [kind]: raw, relation };
  const [answers] = await model.rank([edge], { k, includeKnown, candidates: allCandidates ? 'all' : 'seen' });
  return { answers, relation: relation ?? model.onlyRelation };
}

function title(relation: string | undefined, kind: 'head' | 'tail' | 'neighbors', raw: string): string {
  if (kind === 'neighbors') return `nearest to ${raw}`;
  const middle = relation ?? '→';
  return kind === 'head' ? `${raw}  ${middle}  ?` : `?  ${middle}  ${raw}`;
}

async function print(
  { run }: GraphPredictor,
  output: Output,
  head: string,
  raw: string,
  answers: readonly RankedName[],
): Promise<void> {
  const named = answers.map((answer, i) => ({ rank: i + 1, ...answer }));
  const glosses = await readGlosses(run.dataset.directory, new Set([raw, ...named.map(({ name }) => name)]));
  const own = glosses.get(raw);
  output.text(own === undefined ? head : `${head}    (${own})`);
  const width = Math.max(0, ...named.map(({ name }) => name.length));
  const full = named.map((answer) => {
    const gloss = glosses.get(answer.name);
    return gloss === undefined ? answer : { ...answer, gloss };
  });
  for (const answer of full) {
    const gloss = 'gloss' in answer ? `  ${answer.gloss}` : '';
    const mark = answer.known === true ? '  known' : '';
    const score = answer.score.toFixed(4).padStart(9);
    output.text(`${String(answer.rank).padStart(4)}  ${answer.name.padEnd(width)}  ${score}${mark}${gloss}`);
    output.event('answer', answer);
  }
  if (full.length === 0)
    output.text('  no answer: every candidate is known. Use --include-known or --all-candidates.');
  output.event('done', { query: head, answers: full });
}
