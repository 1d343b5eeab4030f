/** The work of `skein eval`: computes the metrics of a saved model on a held-out split, in total, by direction and by relation. */
import { basename, resolve } from 'node:path';
import {
  type HeldOut,
  LinkPredictionModel,
  type LinkPredictionReporter,
  type OpenedGraphRun,
  type OpenedRun,
  Output,
  openRun,
  type Task,
} from '../train/index.js';
import { type MetricValues, metricCell } from '../train/run/reporter.js';
import { RunDirectory } from '../train/run/run-directory.js';
import { baselineNote } from '../train/run/training-advice.js';
import { isPackedRun } from '../train/run/unpacked-run.js';
import type { Baseline } from '../train/task.js';
import { StateError, ValueError } from '../util/errors.js';
import type { PluginOptions } from './options/options.js';

export interface EvalCommand extends PluginOptions {
  readonly byRelation: boolean;
  readonly json: boolean;
  /** `test` or `validation`, and overrides `section.key=value`. */
  readonly set: readonly string[];
}

export async function evalCommand(path: string, command: EvalCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const split = parseSplit(command.set.filter((text) => !text.includes('=')));
  const run = await openRun(path, {
    command: 'eval',
    overrides: command.set.filter((text) => text.includes('=')),
    best: true,
    plugins: command.plugin,
    onWarning: (message) => output.warn(message),
  });
  try {
    if (run.kind === 'events') {
      const { evalEvents } = await import('./eval-events.js');
      return await evalEvents(run, split, output, modelPlace(path, run));
    }
    const started = performance.now();
    const stage = output.stage(`evaluating on the ${split} set`);
    const metrics = await run.task.evaluate(split, stage.update);
    if (Object.keys(metrics).length === 0)
      throw new StateError(
        `eval: expected a ${split} set in ${run.dataset.directory}, got none. Use --set for the other split, or prepare the dataset with --dataset-split.`,
      );
    const seconds = (performance.now() - started) / 1000;
    const { epoch } = run.record.position;
    const place = modelPlace(path, run);
    output.text(`${split} set, ${describePlace(place, epoch)}`);
    output.text(line('', metrics));
    output.event('eval', { set: split, epoch, ...metrics, seconds });
    const baselines = await evalBaselines(run.task, split, output);
    const details = run.model instanceof LinkPredictionModel ? await reportLinks(run, command, output) : {};
    const among = run.kind === 'links' ? await evalAmongSeen(run, split, output) : {};
    output.event('done', {
      ...modelFields(place),
      epoch,
      [split]: metrics,
      ...baselines,
      ...among,
      ...Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${split}.${name}`, value])),
      ...details,
      seconds,
    });
    output.doneIn();
  } finally {
    await run.close();
  }
}

/** The model that is evaluated. */
export interface ModelPlace {
  /** The directory of the model, or the archive that was given: it is unpacked into a folder that is removed. */
  readonly directory: string;
  /** The name of the checkpoint; '' is the final state. */
  readonly checkpoint: string;
  readonly finished: boolean;
}

function modelPlace(path: string, { directory: run, checkpoint }: OpenedRun): ModelPlace {
  const name = checkpoint === run ? '' : basename(checkpoint);
  if (isPackedRun(path)) return { directory: resolve(path), checkpoint: name, finished: true };
  return { directory: checkpoint, checkpoint: name, finished: RunDirectory.isFinished(run) };
}

/** Returns a place in words. */
export function describePlace({ directory, checkpoint, finished }: ModelPlace, epoch: number): string {
  const model = `model of epoch ${epoch} in ${directory}`;
  return finished ? model : `${model}: checkpoint ${checkpoint} of a run that has not finished`;
}

/** Returns the fields of a place for `--json`. */
export function modelFields({ directory, checkpoint }: ModelPlace): object {
  return { directory, checkpoint };
}

/** Reports the results of baselines on a split. */
export async function evalBaselines(
  task: Task,
  split: HeldOut,
  output: Output,
  isShown: (metric: string) => boolean = () => true,
): Promise<{ readonly baselines?: readonly Baseline[] }> {
  const baselines = (await task.baselines?.(split)) ?? [];
  for (const one of baselines) {
    const { name, metrics, ...rest } = one;
    const shown = Object.entries(metrics).filter(([metric]) => isShown(metric));
    output.text(`${line('baseline', Object.fromEntries(shown))}  ${baselineNote(one, task.items)}`);
    output.event('baseline', { set: split, baseline: name, ...metrics, ...rest });
  }
  return baselines.length === 0 ? {} : { baselines };
}

/** Multiplications of a second ranking that are worth its figures: some seconds. */
const cheapRanking = 1e11;

/** Reports metrics among the candidates seen in training as well, where all nodes were ranked and ranking again is cheap. */
async function evalAmongSeen(
  { config, source, storage, task, model }: OpenedGraphRun,
  split: HeldOut,
  output: Output,
): Promise<object> {
  const { candidates, negative_sampling: negatives } = config.evaluation;
  const ranksAll = negatives.filtered || negatives.negatives_per_positive === -1;
  const width = storage.embeddings?.width ?? 1;
  const work = source.numItemsOf(split) * storage.numNodes * width;
  const ranks = model.evaluatesBatches;
  if (!ranks || candidates === 'SEEN' || !ranksAll || work > cheapRanking || !storage.allResident) return {};
  source.candidates = 'SEEN';
  const among_seen = await task.evaluate(split);
  source.candidates = candidates;
  output.text(line('among candidates seen in training', among_seen));
  output.event('eval', { set: split, candidates: 'SEEN', ...among_seen });
  return { among_seen };
}

/** Reports metrics by direction and, if requested, by relation. */
async function reportLinks(run: OpenedGraphRun, command: EvalCommand, output: Output): Promise<object> {
  const reporter = (run.model as LinkPredictionModel).reporter;
  const by_direction = reportDirections(reporter, output);
  if (!command.byRelation || !run.dataset.hasRelations) return { by_direction };
  const names = await run.dataset.relationNames();
  const grouped = [...reporter.resultsByRelation()].map(
    ([id, values]) => [names.nameOf(id), values] as const,
  );
  grouped.sort(([, a], [, b]) => b.count - a.count);
  const width = Math.max(...grouped.map(([name]) => name.length));
  for (const [name, values] of grouped) {
    output.text(line(name.padEnd(width), values));
    output.event('relation', { relation: name, ...values });
  }
  return { by_direction, by_relation: Object.fromEntries(grouped) };
}

function reportDirections(
  reporter: LinkPredictionReporter,
  output: Output,
): Readonly<Record<string, MetricValues>> {
  const found = [...reporter.resultsByDirection()];
  for (const [direction, values] of found) output.text(line(`${direction}s`, values));
  return Object.fromEntries(found);
}

function line(title: string, values: MetricValues): string {
  const { count, ...metrics } = values as MetricValues & { readonly count?: number };
  const cells = Object.entries(metrics).map(([name, value]) => metricCell(name, value));
  if (count !== undefined) cells.push(`(${count})`);
  return `${title === '' ? '' : `  ${title}  `}${cells.join('  ')}`;
}

function parseSplit(names: readonly string[]): 'validation' | 'test' {
  const name = names.at(-1) ?? 'test';
  if (name === 'validation' || name === 'test') return name;
  throw new ValueError(`eval: expected test, validation or section.key=value for --set, got ${name}.`);
}
