/**
 * Damage to every file of every kind of directory: a bit flipped, the end truncated, emptied, deleted, swapped for the
 * same file of another run or dataset. Then the directory is opened and used: an error names the file, or the result is
 * unchanged.
 *
 * Everything runs in this process, by the functions that the commands use, so that thousands of tries are possible.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { InternalError, type Random, SkeinError } from 'skein/util';
import { type Campaign, Fault, refused, type Setup, survived, type Try, type Verdict } from './campaign.js';
import { makeTargets, type Target } from './damage-targets.js';
import { differenceOf } from './runs.js';

const damages = ['flip', 'truncate', 'empty', 'delete', 'swap'] as const;
type Damage = (typeof damages)[number];

/** Number of times each kind of damage is done to a file; resuming takes ten times as long as opening. */
function repeatsOf(damage: Damage, { resumes }: Target, long: boolean): number {
  const random = damage === 'flip' ? 6 : damage === 'truncate' ? 2 : 1;
  return random === 1 ? 1 : Math.ceil((random / (resumes ? 4 : 1)) * (long ? 10 : 1));
}

/** Files that are damaged, relative to the target: those of a directory, or one file. */
function filesOf({ root }: Target): string[] {
  if (statSync(root).isFile()) return [''];
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  return names.filter((name) => statSync(join(root, name)).isFile() && name !== 'run.lock');
}

/** Damages a file; returns a description of the damage. */
function harm(damage: Damage, file: string, other: string, random: Random): string {
  const bytes = readFileSync(file);
  switch (damage) {
    case 'flip': {
      const [at, bit] = [random.nextInt(bytes.length), random.nextInt(8)];
      bytes[at] ^= 1 << bit;
      writeFileSync(file, bytes);
      return `bit ${bit} of byte ${at} flipped`;
    }
    case 'truncate': {
      const length = random.nextInt(bytes.length);
      writeFileSync(file, bytes.subarray(0, length));
      return `cut to ${length} of ${bytes.length} bytes`;
    }
    case 'empty':
      writeFileSync(file, '');
      return 'emptied';
    case 'delete':
      rmSync(file);
      return 'deleted';
    case 'swap':
      cpSync(other, file);
      return `replaced by ${other}`;
  }
}

/** Whether a message names the file, or the checkpoint folder that holds nothing else. */
function names(message: string, root: string, file: string): boolean {
  const path = join(root, file);
  const folder = /^(last|best|checkpoint_\d+)[\\/]/.exec(file)?.[1];
  if (message.includes(path) || (file.includes('/') && message.includes(file))) return true;
  if (folder !== undefined) return message.includes(`${join(root, folder)}`);
  // Files next to the checkpoints are named without a folder.
  return file !== '' && new RegExp(`(^|[\\s"])${file.replaceAll('.', '\\.')}`).test(message);
}

interface Damaged {
  readonly root: string;
  readonly file: string;
  readonly damage: Damage;
  /** As text. */
  readonly done: string;
}

/**
 * Whether a message says enough. A file that is whole but another's can only be seen not to fit: then the message must name
 * one of the two sides.
 */
function saysEnough(
  message: string,
  { name, root: given }: Target,
  root: string,
  file: string,
  damage: Damage,
) {
  if (names(message, root, file)) return true;
  return damage === 'swap' && message.includes(name.startsWith('data of') ? dirname(given) : root);
}

/** Cases in which the documentation allows a different result. */
const documented: Readonly<Record<string, string>> = {
  'run events-tgn/delete/best/model.safetensors':
    'the final state is evaluated instead, with recomputed memory, which eval prints',
  'resume events-tgn/delete/best/model.safetensors':
    'the best of the epochs to come is kept instead, which the run prints',
};

async function evaluateUse(target: Target, at: Damaged): Promise<Verdict> {
  const { root, file, damage, done } = at;
  let result: unknown;
  try {
    result = await target.use(root);
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (!(error instanceof SkeinError) || error instanceof InternalError)
      throw new Fault('crash', `${done}: expected an error of Skein's own, got ${text}`);
    if (saysEnough(error.message, target, root, file, damage)) return refused;
    throw new Fault(
      'unnamed',
      `${done}: expected an error that names ${file || root}, got: ${error.message}`,
    );
  }
  const difference = differenceOf(result, await target.whole());
  if (difference === '' || `${target.name}/${damage}/${file}` in documented) return survived;
  throw new Fault('silent', `${done}: accepted, with another result\n${difference}`);
}

function tryOf(target: Target, damage: Damage, file: string, i: number): Try {
  return {
    name: `damage/${target.name}/${damage} ${i} ${file}`.trimEnd(),
    run: async (random) => {
      await target.whole();
      const root = target.resumes ? `${target.root}-damaged` : target.root;
      if (target.resumes) cpSync(target.root, root, { recursive: true });
      const path = file === '' ? root : join(root, file);
      const good = readFileSync(path);
      try {
        const done = `${path}: ${harm(damage, path, join(target.other, file), random)}`;
        const after = listing(root);
        const verdict = await evaluateUse(target, { root, file, damage, done });
        if (!target.resumes && listing(root) !== after)
          throw new Fault(
            'leftover',
            `${done}: reading changed the files of the directory\n${listing(root)}`,
          );
        return verdict;
      } finally {
        if (target.resumes) rmSync(root, { recursive: true, force: true });
        else writeFileSync(path, good);
      }
    },
  };
}

function listing(root: string): string {
  return !existsSync(root) || statSync(root).isFile()
    ? root
    : readdirSync(root, { recursive: true, encoding: 'utf8' }).sort().join('\n');
}

export const damage: Campaign = {
  name: 'damage',
  about: 'damaged files of datasets, partitions, streams and runs, then opened, evaluated, scored, resumed',
  missing: () => null,
  async tries({ folder, long }: Setup): Promise<Try[]> {
    const tries: Try[] = [];
    for (const target of await makeTargets(folder)) {
      for (const file of filesOf(target)) {
        const bytes = readFileSync(join(target.root, file));
        for (const kind of damages) {
          const other = join(target.other, file);
          if (kind === 'swap' && (!existsSync(other) || readFileSync(other).equals(bytes))) continue;
          if ((kind === 'flip' || kind === 'truncate' || kind === 'empty') && bytes.length === 0) continue;
          for (let i = 0; i < repeatsOf(kind, target, long); i++) tries.push(tryOf(target, kind, file, i));
        }
      }
    }
    return tries;
  },
};
