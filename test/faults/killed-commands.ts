/**
 * `preprocess`, `partition` and `export`, killed with SIGKILL at random moments: files with their final names are
 * complete, the same command again gives the bytes of the uninterrupted one, and no other files are left.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PreparedDataset } from 'skein/data';
import { loadPartitionData } from 'skein/dist';
import { Random } from 'skein/util';
import { type Campaign, Fault, type Setup, survived, type Try } from './campaign.js';
import { killAfter, succeed } from './processes.js';
import { differenceOf, digest } from './runs.js';

export interface Command {
  readonly name: string;
  /** To write into `out`; it may replace what is there when `again`. */
  readonly args: (out: string, again: boolean) => string[];
  /** Opens the written files with all checks, as far as they have their final names. */
  readonly check: (out: string) => Promise<unknown>;
  /** The path of the complete output; `check` runs only if it exists. */
  readonly complete: string;
}

const exported = (format: string): Command => ({
  name: `export ${format}`,
  args: (out, again) => [
    ...['export', 'large', '--what', 'features', '--format', format, '--output-dir', out],
    ...(again ? ['--overwrite'] : []),
  ],
  // Compared with the bytes of the whole one, below.
  check: async () => {},
  complete: `features.${format}`,
});

export const commands: readonly Command[] = [
  {
    name: 'preprocess',
    args: (out, again) => [
      ...['preprocess', '--edges', 'large.csv', '--node-table', 'large-nodes.csv', '--label-column', 'kind'],
      ...['--num-partitions', '4', '--output-directory', out, ...(again ? ['--overwrite'] : [])],
    ],
    check: (out) => PreparedDataset.open(out, { verify: true }),
    complete: 'dataset.yaml',
  },
  {
    name: 'partition',
    args: (out) => [
      ...['partition', 'large', '--num-partitions', '4', '--algorithm', 'ldg', '--name', 'large'],
      ...['--output', out],
    ],
    check: async (out) => {
      for (let rank = 0; rank < 4; rank++) await loadPartitionData(out, { rank, workers: 4 });
    },
    complete: 'large.json',
  },
  exported('csv'),
  exported('npy'),
  exported('parquet'),
];

const [nodes, edges] = [12_000, 60_000];

/** Input that takes the commands a second or so. */
export async function writeLarge(folder: string): Promise<void> {
  if (existsSync(join(folder, 'large'))) return;
  const random = new Random(1);
  const pairs = Array.from({ length: edges }, () => `n${random.nextInt(nodes)},n${random.nextInt(nodes)}`);
  writeFileSync(join(folder, 'large.csv'), `source,target\n${pairs.join('\n')}\n`);
  const columns = Array.from({ length: 16 }, (_, i) => `x${i}`);
  const row = (i: number): string =>
    `n${i},${columns.map(() => random.nextInt(1000)).join(',')},${i % 3 ? 'a' : 'b'}`;
  const table = Array.from({ length: nodes }, (_, i) => row(i));
  writeFileSync(join(folder, 'large-nodes.csv'), `id,${columns.join(',')},kind\n${table.join('\n')}\n`);
  await succeed(commands[0].args('large', false), folder);
}

/** Digests of all files below a directory, except the file that records its path; null if it does not exist. */
export function contentsOf(directory: string): Record<string, string> | null {
  if (!existsSync(directory)) return null;
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();
  const files = names.filter((name) => statSync(join(directory, name)).isFile());
  return Object.fromEntries(
    files.map((name) => {
      const bytes = readFileSync(join(directory, name));
      if (name !== 'dataset.yaml') return [name, digest([bytes])];
      return [name, bytes.toString().replaceAll(/^(# Checksum|dataset_dir:).*$/gm, '')];
    }),
  );
}

export const killedCommands: Campaign = {
  name: 'commands',
  about: 'SIGKILL of preprocess, partition and export, then the same command again',
  missing: () => null,
  async tries({ folder, long }: Setup): Promise<Try[]> {
    await writeLarge(folder);
    const whole = new Map<Command, { contents: unknown; seconds: number }>();
    return commands.flatMap((command) =>
      Array.from({ length: long ? 30 : 4 }, (_, i): Try => {
        const { name, args, check, complete } = command;
        const parent = join(folder, `${name} ${i}`);
        const out = join(parent, 'out');
        return {
          name: `commands/${name}/${i}`,
          run: async (random) => {
            if (!whole.has(command)) {
              const path = join(folder, `whole ${name}`, 'out');
              const { seconds } = await succeed(args(path, false), folder);
              whole.set(command, { contents: contentsOf(path), seconds });
            }
            const { contents, seconds } = whole.get(command) as { contents: unknown; seconds: number };
            mkdirSync(parent, { recursive: true });
            const delay = Math.round(random.nextFloat() * seconds * 1000);
            await killAfter(delay, args(out, false), folder);
            const done = existsSync(join(out, complete));
            if (done) await check(out);
            await succeed(args(out, done), folder);
            const difference = differenceOf(contentsOf(out), contents);
            if (difference !== '')
              throw new Fault('silent', `killed after ${delay} ms: other files\n${difference}`);
            const left = readdirSync(parent).filter((entry) => entry !== 'out');
            if (left.length > 0) throw new Fault('leftover', `killed after ${delay} ms: ${left.join(', ')}`);
            return survived;
          },
        };
      }),
    );
  },
};
