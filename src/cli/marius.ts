/**
 * Marius's commands (`marius_train` and so on) with Marius's arguments. Each rewrites the command line: `--snake_case`
 * becomes `--kebab-case`, an option that is an argument of our command moves to the front, and options without an
 * equivalent are dropped with a note.
 */
import { main } from './program.js';

interface Alias {
  readonly command: string;
  /** Marius option whose value is the argument of our command. */
  readonly argument?: string;
  readonly renamed?: Readonly<Record<string, string>>;
  readonly dropped?: readonly string[];
  /** Options whose values are lower-cased. */
  readonly lowered?: readonly string[];
}

const aliases = {
  marius_train: { command: 'train' },
  marius_eval: { command: 'eval' },
  marius_preprocess: { command: 'preprocess', renamed: { '-ds': '--dataset-split' }, dropped: ['--spark'] },
  marius_predict: { command: 'predict', argument: '--config', lowered: ['--input-format'] },
  marius_postprocess: {
    command: 'export',
    argument: '--model-dir',
    renamed: { '-f': '--format' },
    lowered: ['--format'],
  },
} satisfies Record<string, Alias>;

export type MariusCommand = keyof typeof aliases;

/** Translates a Marius command line into ours, with notes for the user. */
export function translate(
  name: MariusCommand,
  args: readonly string[],
): { readonly args: string[]; readonly notes: string[] } {
  const { command, argument, renamed = {}, dropped = [], lowered = [] }: Alias = aliases[name];
  const front: string[] = [];
  const rest: string[] = [];
  const notes: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const [, option, value] = /^(--?[A-Za-z][\w-]*)(?:=([\s\S]*))?$/.exec(args[i]) ?? [];
    if (option === undefined) {
      rest.push(args[i]);
      continue;
    }
    const ours = renamed[option] ?? (option.startsWith('--') ? option.replaceAll('_', '-') : option);
    if (dropped.includes(ours)) notes.push(`${name}: ${option} has no effect here.`);
    else if (ours === argument) front.push(value ?? args[++i] ?? '');
    else if (lowered.includes(ours)) rest.push(ours, (value ?? args[++i] ?? '').toLowerCase());
    else rest.push(value === undefined ? ours : `${ours}=${value}`);
  }
  return { args: [command, ...front, ...rest], notes };
}

export async function runAlias(name: MariusCommand): Promise<void> {
  const { args, notes } = translate(name, process.argv.slice(2));
  for (const note of notes) process.stderr.write(`${note}\n`);
  await main(args);
}
