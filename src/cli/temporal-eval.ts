/** The work of `skein eval` on a temporal run, and what the commands that do not take one say. */
import {
  judgeRunLabels,
  judgeTemporalRun,
  metricCell,
  Output,
  openTemporalRun,
  ranksMatter,
} from '../train/index.js';
import { isTemporalRun } from '../train/temporal/index.js';
import { ValueError } from '../util/errors.js';

export interface TemporalEval {
  readonly part: 'validation' | 'test';
  readonly overrides: readonly string[];
  readonly json: boolean;
}

export async function evalTemporal(path: string, { part, overrides, json }: TemporalEval): Promise<void> {
  const output = new Output({ json });
  const run = await openTemporalRun(path, { command: 'eval', overrides, best: true });
  const started = performance.now();
  const stage = output.stage(`evaluating on the ${part} events`);
  const { metrics: links, replayed } = await judgeTemporalRun(run, part, stage.update);
  const labels = Object.entries((await judgeRunLabels(run, part)) ?? {});
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

/** Refuses a temporal run where a command cannot use one. */
export function refuseTemporal(path: string, command: string, advice: string): void {
  if (!isTemporalRun(path)) return;
  throw new ValueError(
    `${command}: expected a run over a prepared graph, got the temporal run ${path}. ${advice}`,
  );
}
