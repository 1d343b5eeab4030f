/** Options that commands share, and the parsers of their values. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { ValueError } from '../../util/errors.js';
import { parseByteCount } from '../../util/size.js';

export function wholeNumber(text: string): number {
  return integerFrom(0, text);
}

export function byteSize(text: string): number {
  const bytes = parseByteCount(text);
  if (bytes === undefined) throw new InvalidArgumentError('Expected a size such as 500M or 2G.');
  return bytes;
}

export function positiveInteger(text: string): number {
  return integerFrom(1, text);
}

function integerFrom(least: number, text: string): number {
  const value = Number(text);
  // Number() also reads hexadecimal digits and an empty text.
  if (!/^\s*\d[\d.]*(e\d+)?\s*$/i.test(text) || !Number.isSafeInteger(value) || value < least)
    throw new InvalidArgumentError(`Expected a whole number of at least ${least}.`);
  return value;
}

export interface JsonOptions {
  readonly json: boolean;
}

export function jsonOption(command: Command): Command {
  return command.option('--json', 'Print one JSON object per line on stdout, and text on stderr', false);
}

export function seedOption(command: Command, value = 1): Command {
  return command.option('--seed <n>', 'Random seed', wholeNumber, value);
}

export interface HeaderOptions {
  /** undefined: detected from the first lines. */
  readonly header?: boolean;
  readonly headerLength?: number;
}

/** Adds `--header` and `--no-header` for all text files, and Marius's `--header_length`. */
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
    .option('--header', 'Read column names from the first line of each file (default: detect)')
    .option('--no-header', 'Read the first line of each file as data')
    .addOption(
      new Option('--header-length <n>', 'Number of header lines, 0 or 1').argParser(wholeNumber).hideHelp(),
    );
}

/** Returns whether files have a header line; undefined if it is to be detected. */
export function resolveHeader(where: string, { header, headerLength }: HeaderOptions): boolean | undefined {
  if (headerLength === undefined || header !== undefined) return header;
  if (headerLength > 1)
    throw new ValueError(
      `${where}: expected 0 or 1 for --header-length, got ${headerLength}. Lines at the top of a file that start with # are skipped anyway.`,
    );
  return headerLength === 1;
}

/** Parses a column: a name, or an index from 0. */
export function parseColumn(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text;
}

export interface PluginOptions {
  /** Modules that register types for configurations. */
  readonly plugin: readonly string[];
}

/** Adds `--plugin`, for commands that read a configuration or open a run. */
export function pluginOption(command: Command): Command {
  return command.option(
    '--plugin <module>',
    'Import an ES module that registers a decoder, layer, loss, optimiser, metric or temporal model (repeatable)',
    (path: string, before: readonly string[]) => [...before, path],
    [],
  );
}

export interface OverrideOptions {
  /** `section.key=value`, in the order given, as `loadConfig` takes them. */
  readonly set: readonly string[];
}

/**
 * Lets a command take `--section.key=value`. `rewriteOverrides` turns these into an ordinary option before parsing, so
 * commander still rejects misspelt options.
 * Commands whose `--set` has another use too pass its flags and text.
 */
export function overrideOption(
  command: Command,
  {
    flags = '--set <section.key=value>',
    text = 'Override a configuration key (repeatable); also written --training.num_epochs=5',
  }: { readonly flags?: string; readonly text?: string } = {},
): Command {
  return command
    .option(flags, text, (given: string, before: readonly string[]) => [...before, given], [])
    .addHelpText(
      'after',
      `
Override any configuration key with --section.key=value. The value is YAML. Write a list in brackets
and quote it for the shell, as in "--evaluation.metrics=[mrr, hits@10]".`,
    );
}
