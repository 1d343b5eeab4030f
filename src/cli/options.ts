/** Options that commands share, and what turns their text into values. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { ValueError } from '../util/errors.js';
import { parseByteCount } from '../util/size.js';

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError('Expected a whole number of at least 0.');
  return value;
}

export function byteSize(text: string): number {
  const bytes = parseByteCount(text);
  if (bytes === undefined) throw new InvalidArgumentError('Expected a size such as 500M or 2G.');
  return bytes;
}

/** 1, 2, 3, … */
export function positiveInteger(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError('Expected a whole number of at least 1.');
  return value;
}

export interface JsonOptions {
  readonly json: boolean;
}

export function jsonOption(command: Command): Command {
  return command.option('--json', 'print one JSON object a line on stdout, text on stderr', false);
}

export function seedOption(command: Command, value = 1): Command {
  return command.option('--seed <n>', 'seed of the random numbers', wholeNumber, value);
}

export interface HeaderOptions {
  /** undefined: the first lines decide. */
  readonly header?: boolean;
  readonly headerLength?: number;
}

/** `--header` and `--no-header` for every file of text, and Marius's `--header_length`. */
export function headerOption(command: Command): Command {
  const given = new Set<string>();
  for (const name of ['header', 'no-header'])
    command.on(`option:${name}`, () => {
      if (given.add(name).size === 2)
        throw new ValueError(
          `${command.name()}: expected --header or --no-header, got both. Leave out one of them.`,
        );
    });
  return command
    .option('--header', 'the first line of each file names its columns; by default its look decides')
    .option('--no-header', 'the first line of each file is data')
    .addOption(
      new Option('--header-length <n>', 'lines of titles, 0 or 1').argParser(wholeNumber).hideHelp(),
    );
}

/** What these say; undefined when the first lines decide. */
export function headerGiven(where: string, { header, headerLength }: HeaderOptions): boolean | undefined {
  if (headerLength === undefined || header !== undefined) return header;
  if (headerLength > 1)
    throw new ValueError(
      `${where}: expected 0 or 1 for --header-length, got ${headerLength}. Lines that start with # at the head of a file are skipped anyway.`,
    );
  return headerLength === 1;
}

/** A column by its name, or by its place from 0. */
export function columnOption(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text;
}

export interface PluginOptions {
  /** Modules that register types for configurations. */
  readonly plugin: readonly string[];
}

/** `--plugin`, for commands that read a configuration or open a run. */
export function pluginOption(command: Command): Command {
  return command.option(
    '--plugin <module>',
    'import an ES module that registers a decoder, layer, loss, optimiser, metric or temporal model; may be given again',
    (path: string, before: readonly string[]) => [...before, path],
    [],
  );
}

export interface OverrideOptions {
  /** `section.key=value`, in the order given: what `loadConfig` takes. */
  readonly set: readonly string[];
}

/**
 * Lets a command take `--section.key=value`. The command line is rewritten before it is parsed (see `rewriteOverrides`):
 * commander then sees an ordinary option, and still refuses a misspelt one.
 */
export function overrideOption(command: Command): Command {
  return command
    .option(
      '--set <section.key=value>',
      'change a key of the configuration; --training.num_epochs=5 is short for it',
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .addHelpText(
      'after',
      `
Any key of the configuration can be given as --section.key=value. The value is YAML: a list has
brackets, and quotation marks for the shell, as in "--evaluation.metrics=[mrr, hits@10]".`,
    );
}

/** Turns `--a.b=v` and `--a.b v` into `--set a.b=v` when `command` takes overrides. */
export function rewriteOverrides(command: Command | undefined, args: readonly string[]): string[] {
  if (command === undefined || !command.options.some((option) => option.long === '--set')) return [...args];
  const rewritten: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const dotted = /^--([A-Za-z_]\w*[.[][^=]*)(=[\s\S]*)?$/.exec(args[i]);
    if (dotted === null) rewritten.push(args[i]);
    else if (dotted[2] !== undefined) rewritten.push('--set', `${dotted[1]}${dotted[2]}`);
    else rewritten.push('--set', `${dotted[1]}=${args[++i] ?? ''}`);
  }
  return rewritten;
}

/** Marius's spelling of our options: `--num_partitions` is `--num-partitions`, and `-ds` is `--dataset-split`. */
export function rewriteSnakeCase(command: Command | undefined, args: readonly string[]): string[] {
  const known = new Set(command?.options.map((option) => option.long));
  return args.map((arg) => {
    if (arg === '-ds' && known.has('--dataset-split')) return '--dataset-split';
    const [, name, rest] = /^(--[a-z]+(?:_[a-z]+)+)(=[\s\S]*)?$/.exec(arg) ?? [];
    const ours = name?.replaceAll('_', '-');
    return ours !== undefined && known.has(ours) ? `${ours}${rest ?? ''}` : arg;
  });
}
