/**
 * `npm run test:faults`: kills, fills disks, damages files and stops workers, and counts the outcomes.
 *
 *   --seed=N       repeat the random numbers of an earlier run; a new seed is drawn otherwise, and printed
 *   --only=NAME    a campaign, a try, or the beginning of the name of some
 *   --long         more tries of each
 *   --list         names of the campaigns
 *
 * Every campaign runs in a separate process, which reports each try before and after it: when that process dies or falls
 * silent, the current try has failed, and a new process continues with the next. Exit code 1 if any try failed.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Campaign, type Ending, evaluateTry, isFailure, type Verdict } from './campaign.js';
import { damage } from './damage.js';
import { fullDisk } from './full-disk.js';
import { killedCommands } from './killed-commands.js';
import { killedTraining } from './killed-training.js';
import { workers } from './workers.js';

const campaigns: readonly Campaign[] = [killedTraining, killedCommands, fullDisk, damage, workers];

/** Longer than any try takes on a busy machine, its own waiting included. */
const silenceSeconds = 600;

interface Settings {
  readonly seed: number;
  readonly only: string;
  readonly long: boolean;
}

/** The messages of a campaign's process. */
type Message =
  | { readonly begin: string }
  | { readonly end: string; readonly verdict: Verdict }
  | { readonly broken: string };

interface Job {
  readonly campaign: string;
  readonly settings: Settings;
  readonly folder: string;
  /** Start after this try. */
  readonly after: string | null;
}

/** The process of one campaign. */
async function child({ campaign: name, settings, folder, after }: Job): Promise<void> {
  const send = (message: Message): Promise<void> =>
    new Promise((done) => {
      process.send?.(message, () => done());
    });
  try {
    const campaign = campaigns.find((one) => one.name === name);
    let wanted = (await campaign?.tries({ folder, long: settings.long })) ?? [];
    wanted = wanted.slice(after === null ? 0 : wanted.findIndex((one) => one.name === after) + 1);
    for (const one of wanted.filter((one) => one.name.startsWith(settings.only))) {
      await send({ begin: one.name });
      await send({ end: one.name, verdict: await evaluateTry(one, settings.seed) });
    }
  } catch (error) {
    await send({ broken: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
  process.disconnect();
}

interface Count {
  tries: number;
  seconds: number;
  readonly endings: Map<Ending, number>;
  readonly failures: string[];
}

type OnVerdict = (name: string, verdict: Verdict) => void;

/** Runs the process of a campaign to its end; returns the try that ended it, or null after a regular end. */
function watch(job: Job, onVerdict: OnVerdict): Promise<string | null> {
  const watched = fork(fileURLToPath(import.meta.url), [], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let stopped = false;
  const stop = (): void => {
    stopped = true;
    watched.kill('SIGINT');
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop);
  let under: string | null = null;
  let silent = false;
  const kill = (): void => {
    silent = true;
    watched.kill('SIGKILL');
  };
  let limit = setTimeout(kill, silenceSeconds * 1000);
  watched.on('message', (message: Message) => {
    clearTimeout(limit);
    limit = setTimeout(kill, silenceSeconds * 1000);
    if ('begin' in message) under = message.begin;
    else if ('end' in message) {
      under = null;
      onVerdict(message.end, message.verdict);
    } else onVerdict(`${job.campaign} (preparation)`, { ending: 'crash', detail: message.broken });
  });
  watched.send(job);
  return new Promise((resolve) =>
    watched.on('close', (code, signal) => {
      clearTimeout(limit);
      for (const name of ['SIGINT', 'SIGTERM']) process.off(name, stop);
      if (stopped) {
        rmSync(job.folder, { recursive: true, force: true });
        process.exit(130);
      }
      if (code !== 0 || under !== null) {
        const detail = silent
          ? `nothing happened for ${silenceSeconds} s`
          : `the process ended with ${signal ?? `exit code ${code}`}`;
        onVerdict(under ?? `${job.campaign} (preparation)`, { ending: silent ? 'hang' : 'crash', detail });
      }
      resolve(under);
    }),
  );
}

async function runCampaign(campaign: Campaign, settings: Settings): Promise<Count> {
  const folder = mkdtempSync(join(tmpdir(), `skein-faults-${campaign.name}-`));
  const count: Count = { tries: 0, seconds: 0, endings: new Map(), failures: [] };
  const start = performance.now();
  const onVerdict: OnVerdict = (name, verdict) => {
    count.tries++;
    count.endings.set(verdict.ending, (count.endings.get(verdict.ending) ?? 0) + 1);
    if (!isFailure(verdict)) return;
    const again = `npm run test:faults -- --seed=${settings.seed}${settings.long ? ' --long' : ''} "--only=${name}"`;
    const text = `${verdict.ending}: ${name}\n    ${verdict.detail?.replaceAll('\n', '\n    ')}\n    ${again}`;
    count.failures.push(text);
    console.log(text);
  };
  let after: string | null = null;
  do {
    after = await watch({ campaign: campaign.name, settings, folder, after }, onVerdict);
  } while (after !== null);
  rmSync(folder, { recursive: true, force: true });
  count.seconds = Math.round((performance.now() - start) / 1000);
  return count;
}

function printTable(counts: ReadonlyMap<string, Count | string>): void {
  const row = (cells: readonly (string | number)[]): void =>
    console.log(
      cells.map((cell, i) => (i === 0 ? String(cell).padEnd(18) : String(cell).padStart(9))).join(''),
    );
  const kinds: readonly Ending[] = ['survived', 'refused', 'silent', 'crash', 'hang', 'unnamed', 'leftover'];
  console.log('');
  row(['campaign', 'tries', ...kinds, 'seconds']);
  for (const [name, count] of counts) {
    if (typeof count === 'string') console.log(`${name.padEnd(18)}  skipped: ${count}`);
    else row([name, count.tries, ...kinds.map((kind) => count.endings.get(kind) ?? 0), count.seconds]);
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      only: { type: 'string', default: '' },
      long: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  if (values.list) {
    for (const { name, about } of campaigns) console.log(`${name.padEnd(18)} ${about}`);
    return;
  }
  const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new Error(`expected a whole number for --seed, got ${values.seed}.`);
  const settings: Settings = { seed, only: values.only, long: values.long };
  const chosen = campaigns.filter(({ name }) => settings.only === '' || settings.only.split('/')[0] === name);
  if (chosen.length === 0)
    throw new Error(
      `expected a name that starts with one of ${campaigns.map(({ name }) => name).join(', ')} for --only, got ${settings.only}.`,
    );
  const counts = new Map<string, Count | string>();
  for (const campaign of chosen) {
    console.log(`== ${campaign.name}: ${campaign.about} (seed ${seed})`);
    counts.set(campaign.name, campaign.missing() ?? (await runCampaign(campaign, settings)));
  }
  printTable(counts);
  const failed = [...counts.values()].flatMap((count) => (typeof count === 'string' ? [] : count.failures));
  console.log(`\n${failed.length === 0 ? 'no failure' : `${failed.length} failures`}, seed ${seed}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

if (process.send === undefined) await main();
else process.once('message', (job: Job) => void child(job));
