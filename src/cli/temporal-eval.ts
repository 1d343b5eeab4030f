/** The work of `skein eval` on a temporal run. */
import {
  evaluateEventRun,
  evaluateRunLabels,
  metricCell,
  type OpenedEventRun,
  type Output,
  ranksMatter,
} from '../train/index.js';

export async function evalTemporal(
  run: OpenedEventRun,
  part: 'validation' | 'test',
  output: Output,
): Promise<void> {
  const started = performance.now();
  const stage = output.stage(`evaluating on the ${part} events`);
  const { metrics: links, replayed } = await evaluateEventRun(run, part, stage.update);
  const labels = Object.entries((await evaluateRunLabels(run, part)) ?? {});
  const metrics = {
    ...links,
    ...Object.fromEntries(labels.map(([name, value]) => [`label_${name}`, value])),
  };
  const seconds = (performance.now() - started) / 1000;
  const { epoch } = run.record.position;
  const { negatives, amount } = run.config.evaluation;
  output.text(`${part} events, model of epoch ${epoch} in ${run.checkpoint}`);
  output.text(`negatives: ${negatives}${negatives === 'all' ? '' : `, ${amount} for each event`}`);
  if (replayed) output.text('memory made anew from the events before');
  // Among two, a rank says no more than the area does.
  const shown = Object.entries(metrics).filter(
    ([name]) => ranksMatter(run.config) || !/(^|_)(mrr|hits@\d+)$/.test(name),
  );
  const cells = shown.map(([name, value]) => metricCell(name, value));
  output.text(cells.join('  '));
  output.event('eval', { set: part, epoch, negatives, amount, replayed, ...metrics, seconds });
  output.event('done', {
    directory: run.checkpoint,
    ...{ epoch, negatives, amount, replayed },
    [part]: metrics,
    ...Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`${part}.${name}`, value])),
    seconds,
  });
  output.doneIn();
}
