/**
 * Training of every kind, killed with SIGKILL at random moments, from before its directory exists to its last test, and
 * resumed each time: it must end with the metrics and the numbers of the uninterrupted run.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Campaign, Fault, type Setup, survived, type Try } from './campaign.js';
import { killAfter, succeed } from './processes.js';
import {
  differenceOf,
  hasRun,
  type Kind,
  kinds,
  type Outcome,
  outcomeOf,
  resume,
  trainArgs,
  writeConfigs,
  writeData,
} from './runs.js';

const killsPerTry = 3;
const seed = 5;

interface Whole {
  readonly outcome: Outcome;
  readonly seconds: number;
}

/** The run that is left alone; trained once for all tries of a kind. */
async function trainWhole(folder: string, kind: Kind): Promise<Whole> {
  const { seconds } = await succeed(trainArgs(kind, `whole-${kind}`, seed), folder);
  return { outcome: await outcomeOf(join(folder, `whole-${kind}`)), seconds };
}

export const killedTraining: Campaign = {
  name: 'train',
  about: 'SIGKILL of training, then resumed to its end',
  missing: () => null,
  async tries({ folder, long }: Setup): Promise<Try[]> {
    if (!existsSync(join(folder, 'links'))) await writeData(folder, 'short');
    writeConfigs(folder, 'short');
    const whole = new Map<Kind, Promise<Whole>>();
    return kinds.flatMap((kind) =>
      Array.from({ length: long ? 12 : 3 }, (_, i): Try => {
        const run = `${kind}-${i}`;
        const train = trainArgs(kind, run, seed);
        const go = (): string[] => (hasRun(join(folder, run)) ? [...train, resume] : train);
        return {
          name: `train/${kind}/${i}`,
          run: async (random) => {
            if (!whole.has(kind)) whole.set(kind, trainWhole(folder, kind));
            const { outcome, seconds } = (await whole.get(kind)) as Whole;
            const delays: number[] = [];
            for (let kill = 0; kill < killsPerTry; kill++) {
              const delay = Math.round(random.nextFloat() * seconds * 1000);
              delays.push(delay);
              if (await killAfter(delay, go(), folder)) break;
            }
            if (!existsSync(join(folder, run, 'done.json'))) await succeed(go(), folder);
            const said = `killed after ${delays.join(', ')} ms`;
            const difference = differenceOf(await outcomeOf(join(folder, run)), outcome);
            if (difference !== '') throw new Fault('silent', `${said}: another result\n${difference}`);
            const left = leftovers(join(folder, run));
            if (left.length > 0) throw new Fault('leftover', `${said}: ${left.join(', ')} in ${run}`);
            return survived;
          },
        };
      }),
    );
  },
};

/** Temporary files in a finished run. */
function leftovers(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tmp$/.test(name));
}
