/**
 * Command lines that cannot be parsed, in the words of all other errors: what was expected, what came, what to do. An unknown
 * option that is a key of the configuration (`--num-epochs 3`) is answered with that key.
 */
import type { Command, CommanderError } from 'commander';
import { ValueError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';

/** @param command the command that was asked for, where there is one */
export async function wrongUse(
  error: CommanderError,
  command: Command | undefined,
  args: readonly string[],
): Promise<ValueError> {
  const where = command === undefined ? '' : `${command.name()}: `;
  const said = error.message.replace(/^error: /, '');
  const help = `See "${[invocation(), ...(command === undefined ? [] : [command.name()])].join(' ')} --help".`;
  const [, near] = /Did you mean (?:one of )?(.*?)\?/.exec(said) ?? [];
  const key = error.code === 'commander.unknownOption' ? await keyOf(command, args, said) : undefined;
  const close = key ?? near;
  return new ValueError(`${where}${sentence(said)} ${close === undefined ? help : `Did you mean ${close}?`}`);
}

/** Commander's message as expected and got; one that has no such form keeps its words. */
function sentence(said: string): string {
  const first = said.split('\n')[0];
  for (const [pattern, text] of forms) if (pattern.test(first)) return first.replace(pattern, text);
  return /[.?]$/.test(first) ? first : `${first}.`;
}

const forms: readonly (readonly [RegExp, string])[] = [
  [/^unknown option '(.*)'$/, 'expected a known option, got $1.'],
  [/^unknown command '(.*)'$/, 'expected a command, got $1.'],
  [/^missing required argument '(.*)'$/, 'expected <$1>, got none.'],
  [/^required option '(.*)' not specified$/, 'expected $1, got none.'],
  [/^option '(.*)' argument missing$/, 'expected a value for $1, got none.'],
  [/^option '(.*)' argument '(.*)' is invalid\. Expected (.*)\.$/, 'expected $3 for $1, got $2.'],
  [
    /^too many arguments(?: for '.*')?\. Expected (\d+) arguments? but got (\d+)\.?$/,
    'expected no more arguments than $1, got $2.',
  ],
];

/** The keys of configurations that an option may have meant, as they are typed; undefined where there are none. */
async function keyOf(
  command: Command | undefined,
  args: readonly string[],
  said: string,
): Promise<string | undefined> {
  const [, option] = /^unknown option '--([^'=]+)/.exec(said) ?? [];
  if (option === undefined || command?.options.some(({ long }) => long === '--set') !== true)
    return undefined;
  const { configKeys } = await import('./config-keys.js');
  const keys = configKeys(option.replaceAll('-', '_'));
  if (keys.length === 0) return undefined;
  const at = args.findIndex((arg) => arg === `--${option}` || arg.startsWith(`--${option}=`));
  const [, joined] = args[at]?.split(/=(.*)/s) ?? [];
  const next = args[at + 1];
  const value = joined ?? (next === undefined || next.startsWith('-') ? '…' : next);
  return keys.map((key) => `--${key}=${value}`).join(' or ');
}
