/** The work of `skein explain`: opens a trained model of any kind and prints the reasons of one answer. */
import { EventPredictor } from '../predict/event-predictor.js';
import { GraphPredictor } from '../predict/graph-predictor.js';
import type { EdgeName, ExplainOptions, Explanation, Name, Predictor } from '../predict/index.js';
import { runPath } from '../predict/open-model.js';
import { Output, onlineScorer, openRun } from '../train/index.js';
import { StateError, ValueError } from '../util/errors.js';
import type { OverrideOptions, PluginOptions } from './options/options.js';
import { printExplanation } from './print-explanation.js';
import { parseTime } from './query/questions.js';

export interface ExplainCommand extends PluginOptions, OverrideOptions {
  readonly node?: string;
  readonly class?: string;
  readonly head?: string;
  readonly tail?: string;
  readonly relation?: string;
  readonly time?: string;
  readonly top: number;
  readonly method?: 'mask' | 'gradient';
  readonly steps?: number;
  readonly length?: number;
  readonly events?: number;
  readonly maxEdges?: number;
  readonly randomize?: boolean;
  readonly seed?: number;
  readonly json: boolean;
}

export async function explainCommand(path: string, command: ExplainCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const asked = askedBy(command);
  const model = await openExplained(path, command, output);
  try {
    if (!model.answers.includes('explain'))
      throw new StateError(
        'explain: expected a model of events that counts or samples past events, got one whose state mixes all of them. Train pair_statistics, TGAT, TGN or GraphMixer.',
      );
    const found = await ask(model, asked, optionsOf(command));
    printExplanation(output, found);
    output.event('done', { ...found });
  } finally {
    await model.close();
  }
}

async function ask(model: Predictor, asked: Name | EdgeName, options: ExplainOptions): Promise<Explanation> {
  const isEdge = typeof asked === 'object';
  if (isEdge !== (model.kind !== 'nodes'))
    throw new ValueError(
      `explain: expected ${model.kind === 'nodes' ? '--node' : '--head and --tail'} for a model of ${model.kind}, got ${isEdge ? '--head and --tail' : '--node'}.`,
    );
  return isEdge ? model.explain(asked, options) : model.explain(asked, options);
}

/** Returns the question of the options. */
function askedBy({ node, head, tail, relation, time }: ExplainCommand): Name | EdgeName {
  const ofEdges = Object.entries({ head, tail, relation, time }).filter(([, value]) => value !== undefined);
  const names = ofEdges.map(([name]) => `--${name}`).join(', ');
  if (node !== undefined) {
    if (ofEdges.length > 0)
      throw new ValueError(`explain: expected --node alone, or --head and --tail, got --node and ${names}.`);
    return node;
  }
  if (head === undefined || tail === undefined)
    throw new ValueError(
      `explain: expected --node, or --head and --tail, got ${names === '' ? 'none of them' : names}.`,
    );
  return {
    ...{ head, tail },
    ...(relation === undefined ? {} : { relation }),
    ...(time === undefined ? {} : { time: parseTime('explain', time, '--time') }),
  };
}

function optionsOf(command: ExplainCommand): ExplainOptions {
  const { top: k, method, steps, length, events, maxEdges, randomize, seed } = command;
  const given = { k, method, steps, class: command.class, length, events, maxEdges, randomize, seed };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

async function openExplained(path: string, command: ExplainCommand, output: Output): Promise<Predictor> {
  const run = await openRun(runPath(path), {
    ...{ command: 'explain', overrides: command.set, plugins: command.plugin },
    onWarning: (message) => output.warn(message),
  });
  try {
    if (run.kind === 'events') return new EventPredictor(run, onlineScorer(run, 'explain'));
    return await GraphPredictor.open(run, { command: 'explain', prefix: '--' });
  } catch (error) {
    await run.close();
    throw error;
  }
}
