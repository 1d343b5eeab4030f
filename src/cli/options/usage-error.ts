/**
 * Turns parse errors of commander into errors of our form: what was expected, what was given, what to do. For an unknown
 * option that is a configuration key (`--num-epochs 3`) the error suggests that key.
 */
import type { Command, CommanderError } from 'commander';
import { ValueError } from '../../util/errors.js';
import { invocation } from '../../util/invocation.js';

/** @param command the command given, if it is known */
export async function toUsageError(
  error: CommanderError,
  command: Command | undefined,
  args: readonly string[],
): Promise<ValueError> {
  const where = command === undefined ? '' : `${command.name()}: `;
  const reason = error.message.replace(/^error: /, '');
  const help = `See "${[invocation(), ...(command === undefined ? [] : [command.name()])].join(' ')} --help".`;
  const [, near] = /Did you mean (?:one of )?(.*?)\?/.exec(reason) ?? [];
  const key = error.code === 'commander.unknownOption' ? await suggestKeys(command, args, reason) : undefined;
  const close = key ?? near;
  return new ValueError(
    `${where}${toSentence(reason)} ${close === undefined ? help : `Did you mean ${close}?`}`,
  );
}

/** Rewrites commander's message as "expected …, got …"; an unknown message is kept. */
function toSentence(reason: string): string {
  const first = reason.split('\n')[0];
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

/** Returns the configuration keys that an unknown option may stand for, as they are typed; undefined if there are none. */
async function suggestKeys(
  command: Command | undefined,
  args: readonly string[],
  reason: string,
): Promise<string | undefined> {
  const [, option] = /^unknown option '--([^'=]+)/.exec(reason) ?? [];
  if (option === undefined || command?.options.some(({ long }) => long === '--set') !== true)
    return undefined;
  const { findConfigKeys } = await import('./config-keys.js');
  const keys = findConfigKeys(option.replaceAll('-', '_'));
  if (keys.length === 0) return undefined;
  const at = args.findIndex((arg) => arg === `--${option}` || arg.startsWith(`--${option}=`));
  const [, joined] = args[at]?.split(/=(.*)/s) ?? [];
  const next = args[at + 1];
  const value = joined ?? (next === undefined || next.startsWith('-') ? '…' : next);
  return keys.map((key) => `--${key}=${value}`).join(' or ');
}
