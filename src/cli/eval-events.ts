/** The work of `skein eval` on a temporal run. */

import type { OpenedEventRun, Output } from '../train/index.js';
import { metricCell } from '../train/run/reporter.js';
import { evaluateEventRun } from '../train/tasks/events/evaluate-event-run.js';
import { evaluationPlan, hasRanks } from '../train/tasks/events/evaluation.js';
import { evaluateRunLabels } from '../train/tasks/events/run-labels.js';
import { describePlace, evalBaselines, type ModelPlace, modelFields } from './eval.js';

export async function evalEvents(
  run: OpenedEventRun,
  split: 'validation' | 'test',
  output: Output,
  place: ModelPlace,
): Promise<void> {
  const started = performance.now();
  const stage = output.stage(`evaluating on the ${split} events`);
  const { metrics: links, replayed } = await evaluateEventRun(run, split, stage.update);
  const labels = Object.entries((await evaluateRunLabels(run, split)) ?? {});
  const metrics = {
    ...links,
    ...Object.fromEntries(labels.map(([name, value]) => [`label_${name}`, value])),
  };
  const seconds = (performance.now() - started) / 1000;
  const { epoch } = run.record.position;
  const { negatives, cadence } = run.config.evaluation;
  const { amount: drawn } = evaluationPlan(run.config);
  const amount = typeof drawn === 'number' ? drawn : 1;
  output.text(`${split} events, ${describePlace(place, epoch)}`);
  output.text(
    `negatives: ${negatives}${typeof drawn === 'string' ? '' : `, ${drawn} per event`}; cadence: ${cadence}`,
  );
  if (replayed) output.text('memory recomputed from the preceding events');
  // With one negative, a rank holds no more than the area under the curve does.
  const isShown = (name: string): boolean => hasRanks(run.config) || !/(^|_)(mrr|hits@\d+)$/.test(name);
  const shown = Object.entries(metrics).filter(([name]) => isShown(name));
  const cells = shown.map(([name, value]) => metricCell(name, value));
  output.text(cells.join('  '));
  output.event('eval', { set: split, epoch, negatives, amount, replayed, ...metrics, seconds });
  const baselines = await evalBaselines(run.task, split, output, isShown);
  output.event('done', {
    ...modelFields(place),
    ...{ epoch, negatives, amount, replayed },
    [split]: metrics,
    ...baselines,
    ...Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${split}.${name}`, value])),
    seconds,
  });
  output.doneIn();
}
