/**
 * Full disks: training of every kind, `preprocess`, `partition` and `export` write to a tmpfs of a random size. The
 * error names a file on it, and with more room the same command, or the resumed run, gives the result of a large disk.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Campaign, Fault, refused, type Setup, survived, type Try, type Verdict } from './campaign.js';
import { type Command, commands, contentsOf, writeLarge } from './killed-commands.js';
import { type Ended, finish, succeed } from './processes.js';
import {
  differenceOf,
  hasRun,
  kinds,
  outcomeOf,
  resume,
  trainArgs,
  writeConfigs,
  writeData,
} from './runs.js';

const seed = 5;
const plenty = 256 * 2 ** 20;

/** A disk of `bytes`; `grow` enlarges it, `remove` unmounts it. */
class SmallDisk {
  constructor(readonly path: string) {
    mkdirSync(path, { recursive: true });
  }

  mount(bytes: number): void {
    this.#run('mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', this.path);
  }

  grow(): void {
    this.#run('mount', '-o', `remount,size=${plenty}`, this.path);
  }

  get usedBytes(): number {
    const { blocks, bfree, bsize } = statfsSync(this.path);
    return (blocks - bfree) * bsize;
  }

  /** Does nothing if it is not mounted. */
  remove(): void {
    spawnSync('umount', [this.path], { stdio: 'ignore' });
  }

  #run(...[program, ...args]: string[]): void {
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
  }
}

/** The files written to the disk, and how to check them. */
interface Writer {
  readonly name: string;
  /** The command; `out` is on the disk. */
  readonly args: (out: string, again: boolean) => string[];
  readonly result: (out: string) => Promise<unknown>;
}

const writers: readonly Writer[] = [
  ...kinds.map(
    (kind): Writer => ({
      name: `train ${kind}`,
      args: (out) => [...trainArgs(kind, out, seed), ...(hasRun(out) ? [resume] : [])],
      result: outcomeOf,
    }),
  ),
  ...commands.map(
    ({ name, args, complete }: Command): Writer => ({
      name,
      args: (out, again) => args(out, again && existsSync(join(out, complete))),
      result: async (out) => contentsOf(out),
    }),
  ),
];

interface Whole {
  readonly result: unknown;
  readonly bytes: number;
}

async function writeWhole(writer: Writer, disk: SmallDisk, folder: string): Promise<Whole> {
  disk.mount(plenty);
  try {
    const out = join(disk.path, 'out');
    await succeed(writer.args(out, false), folder);
    return { result: await writer.result(out), bytes: disk.usedBytes };
  } finally {
    disk.remove();
  }
}

/** Expects one sentence with a path on the disk, and exit code 1. */
function evaluateError({ code, signal, err }: Ended, disk: string, size: number): Verdict {
  const said = `on ${size} bytes: ${signal ?? `exit code ${code}`}\n${err}`;
  if (signal !== null) throw new Fault('crash', said);
  const sentence = err.split('\n').find((line) => line.startsWith('skein:')) ?? '';
  if (code !== 1 || !sentence.includes('ENOSPC') || !sentence.includes(disk) || /^\s+at /m.test(err))
    throw new Fault('unnamed', said);
  return refused;
}

export const fullDisk: Campaign = {
  name: 'disk',
  about: 'full disks under train, preprocess, partition and export, then more room',
  missing() {
    if (process.platform !== 'linux') return 'needs Linux, where a small disk can be made of memory';
    const disk = new SmallDisk(mkdtempSync(join(tmpdir(), 'skein-disk-')));
    try {
      disk.mount(2 ** 20);
      return null;
    } catch {
      return 'mounting is not allowed here: run it as root';
    } finally {
      disk.remove();
      rmSync(disk.path, { recursive: true });
    }
  },
  async tries({ folder, long }: Setup): Promise<Try[]> {
    await writeLarge(folder);
    if (!existsSync(join(folder, 'links'))) await writeData(folder, 'tiny');
    writeConfigs(folder, 'tiny');
    const disk = new SmallDisk(join(folder, 'disk'));
    // A killed process may have left it; a stopped one must not.
    disk.remove();
    process.once('SIGINT', () => {
      disk.remove();
      process.exit(130);
    });
    const whole = new Map<Writer, Whole>();
    return writers.flatMap((writer) =>
      Array.from(
        { length: long ? 20 : 4 },
        (_, i): Try => ({
          name: `disk/${writer.name}/${i}`,
          run: async (random) => {
            if (!whole.has(writer)) whole.set(writer, await writeWhole(writer, disk, folder));
            const { result, bytes } = whole.get(writer) as Whole;
            // Up to more than the result takes, because temporary files come on top.
            const size = Math.round((0.02 + 1.3 * random.nextFloat()) * bytes);
            disk.mount(size);
            try {
              const out = join(disk.path, 'out');
              const ended = await finish(writer.args(out, false), folder);
              const verdict = ended.code === 0 ? survived : evaluateError(ended, disk.path, size);
              disk.grow();
              if (ended.code !== 0) await succeed(writer.args(out, true), folder);
              const difference = differenceOf(await writer.result(out), result);
              if (difference !== '')
                throw new Fault('silent', `on ${size} bytes: another result\n${difference}`);
              return verdict;
            } finally {
              disk.remove();
            }
          },
        }),
      ),
    );
  },
};
