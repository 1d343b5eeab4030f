/**
 * `skein demo`: trains on an invented bank with a fraud ring, says how many of the ring's hidden members the model finds, next to
 * rules without learning, and opens the page on them. It needs no data and no network.
 *
 * Its run is in ./data/demo. A finished run is shown without training again.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { GraphPredictor } from '../../predict/graph-predictor.js';
import { fitNodes } from '../../predict/index.js';
import { Output, openRun } from '../../train/index.js';
import type { Stage } from '../../train/run/output.js';
import { invocation } from '../../util/invocation.js';
import { freePort } from '../free-port.js';
import { untilStopped } from '../stop-signals.js';
import { openPage } from '../ui.js';
import { findRing, type RingReport } from './find-ring.js';
import { type Bank, figures, fraudRing } from './fraud-ring.js';
import { openBrowser } from './open-browser.js';

export interface DemoOptions {
  readonly seed: number;
  readonly json: boolean;
  /** Whether to open the browser. */
  readonly open: boolean;
  readonly port: number;
}

/** Fractions of the accounts whose kind is trained with, chosen with, and held out. */
const split = [0.2, 0.1, 0.7] as const;
const epochs = 300;
/** Suspects that are printed. */
const shown = 5;

/** Three layers: an account is seen with the accounts up to three payments away. */
const config = {
  'model.encoder.layers': [
    [{ type: 'FEATURE', output_dim: Object.keys(figures).length }],
    ...[64, 64, 5].map((width, i) => [
      {
        ...{
          type: 'GNN',
          options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' },
          output_dim: width,
          bias: true,
        },
        ...(i < 2 ? { activation: 'RELU', dropout: 0.4 } : {}),
      },
    ]),
  ],
  'training.early_stopping': null,
};

/** The output of training: its events, without the end, and a line of progress in place of one for each epoch. */
class TrainingOutput extends Output {
  readonly #stage: Stage;

  constructor(json: boolean, stage: Stage) {
    super({ json });
    this.#stage = stage;
  }

  override text(): void {}

  override note(): void {}

  override stage(): Stage {
    return { update: () => {}, end: () => {} };
  }

  override event(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (event === 'epoch') this.#stage.update(Number(fields['epoch']), epochs);
    super.event(event === 'done' ? 'trained' : event, fields);
  }
}

export async function demo(options: DemoOptions): Promise<void> {
  const { seed, json } = options;
  const output = new Output({ json });
  const bank = fraudRing(seed);
  const directory = join('data', seed === 1 ? 'demo' : `demo-seed${seed}`);
  introduce(bank, output);
  const run = await trained(bank, directory, seed, output);
  const model = await GraphPredictor.open(await openRun(run, { command: 'demo', over: 'graph' }));
  let report: RingReport;
  try {
    report = await findRing(model, bank, await knownAccounts(model));
  } finally {
    await model.close();
  }
  explain(report, output);
  output.text(`\nThe demo took ${output.elapsed()}.`);
  const { accounts, members, found, suspects } = report;
  const facts = { directory, accounts, members, found, precision: found.model / members };
  await showPage(run, suspects[0].id, options, output);
  output.event('done', facts);
}

const count = (value: number): string => value.toLocaleString('en');
const percent = (share: number): string => `${Math.round(100 * share)} %`;

function introduce({ accounts, payments }: Bank, output: Output): void {
  const members = accounts.filter(({ kind }) => kind === 'ring').length;
  output.text(
    `An invented bank: ${count(accounts.length)} accounts and ${count(payments.length)} payments. ${members} accounts are a fraud ring, which moves money in circles.`,
  );
  output.text(
    `A graph neural network learns from the kind of ${percent(split[0])} of the accounts, their figures and their payments; the kind of another ${percent(split[1])} chooses its best epoch.\n`,
  );
}

/** Trains the model unless an earlier demo has; returns its run. */
async function trained(bank: Bank, directory: string, seed: number, output: Output): Promise<string> {
  const run = join(directory, 'run');
  if (existsSync(join(run, 'done.json'))) {
    output.text(`It was trained before, in ${directory}.`);
    return run;
  }
  // An interrupted demo begins again: it takes seconds.
  for (const name of ['data', 'input', 'run'])
    rmSync(join(directory, name), { recursive: true, force: true });
  const { accounts, payments } = bank;
  const stage = output.stage(`training ${epochs} epochs`);
  try {
    const model = await fitNodes(
      { nodes: accounts, edges: payments },
      {
        ...{ label: 'kind', split, seed, epochs, directory, config },
        output: new TrainingOutput(output.json, stage),
      },
    );
    await model.close();
  } finally {
    stage.end();
  }
  return run;
}

/** Returns the accounts whose kind was used in training, or to choose the best epoch. */
async function knownAccounts({ run }: GraphPredictor): Promise<ReadonlySet<string>> {
  const { dataset } = run;
  const names = await dataset.nodeNames();
  const known = new Set<string>();
  for (const part of ['train', 'validation'] as const)
    for (const id of (await dataset.readNodes(part)) ?? []) known.add(names.nameOf(id));
  return known;
}

function explain({ accounts, members, found, suspects }: RingReport, output: Output): void {
  output.text(
    `\n${count(accounts)} accounts were held out; ${members} of them are in the ring. Of the ${members} most suspicious ones, members are:`,
  );
  const line = (name: string, value: number): void =>
    output.text(
      `  ${name.padEnd(38)} ${value.toFixed(0).padStart(4)}  (${Math.round((100 * value) / members)} %)`,
    );
  line('ranked by the model', found.model);
  line('by payments with known members', found.knownPartners);
  line('by their figures, without payments', found.figures);
  line('by the number of payments', found.payments);
  line('at random', found.chance);
  output.text('\nThe most suspicious accounts:');
  for (const { id, probability, isMember } of suspects.slice(0, shown))
    output.text(
      `  ${id}  ${(100 * probability).toFixed(1)} %  ${isMember ? 'in the ring' : 'not in the ring'}`,
    );
}

/** Shows the page until Ctrl+C; away from a terminal it prints how to show it. */
async function showPage(run: string, suspect: string, options: DemoOptions, output: Output): Promise<void> {
  if (process.stdout.isTTY !== true) {
    output.text(`Show the map and ask questions: ${invocation()} ui ${run}`);
    return;
  }
  await untilStopped(async (stopped) => {
    const port = await freePort(options.port);
    const { server, runs } = await openPage([run], { port, output });
    const [{ name }] = runs.list();
    const view = (path: string): string => `${server.pageLink()}#/${path}`;
    const map = view(`map/${name}?method=umap&colour=class`);
    output.text(`\nThe map of all accounts:       ${map}`);
    output.text(`What surrounds a suspect:      ${view(`explore/${name}?node=${suspect}`)}`);
    output.text(`Ask about any account:         ${view(`ask/${name}?head=${suspect}`)}`);
    output.text('The page stays open until Ctrl+C.');
    output.event('listening', { url: server.url, link: map });
    if (options.open) openBrowser(map);
    await stopped;
    await server.close();
  });
}
