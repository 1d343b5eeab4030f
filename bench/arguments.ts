/** The command line of `npm run bench`. */

export interface Options {
  /** Suites to run; lists them if empty. */
  readonly suites: readonly string[];
  readonly json: boolean;
  /** Only cases whose name contains this or matches it as a regular expression. */
  readonly only: RegExp | null;
  readonly rounds: number;
  readonly threads: number;
  readonly peer: boolean;
  /** Append the results to results/<suite>.jsonl. */
  readonly save: boolean;
  /** Interpreter of the peer; if null, search for one that has PyTorch. */
  readonly python: string | null;
  /** Folder of another source tree to compare with instead of the peer. */
  readonly against: string | null;
  /** With `against`: results that differ from the other tree's do not fail the comparison. */
  readonly allowDifferent: boolean;
  /** With `against`: the other tree runs the cases of its own `bench/`, for calls that changed between the trees. */
  readonly theirCases: boolean;
  /** Busy processes that run during the measurement. */
  readonly busy: number;
}

/** An invalid argument on the command line: one sentence, exit code 2. */
export class UsageError extends Error {}

export const usage = `usage: npm run bench -- <suite>... [options]
  --json            one line of JSON per case on stdout; the table goes to stderr
  --only <pattern>  only cases whose name matches (regular expression)
  --rounds <n>      fresh processes per side and case, in alternating order (default 5; 10 with --against)
  --threads <n>     threads of each side (default 2)
  --busy <n>        run <n> single-threaded busy loops during the measurement (default 0)
  --no-peer         our side only
  --python <path>   the interpreter that has PyTorch (default: the first found that has it)
  --save            append the results to bench/results/<suite>.jsonl
  --against <dir>   compare with another source tree of Skein instead of PyTorch: the cases of this tree on the
                    library of that one, which needs its own build and node_modules. Exit code 0: this tree is
                    no slower; 1: it is slower, or a case fails or has different results
  --allow-different with --against: list different results without failing the comparison, for a bug fix
  --their-cases     with --against: run the other tree's own bench/ there, if the calls of a case have changed`;

const flagNames = ['--json', '--no-peer', '--save', '--allow-different', '--their-cases'];
const againstOnly = ['--allow-different', '--their-cases'];
const valueNames = ['--only', '--rounds', '--threads', '--python', '--against', '--busy'];
const peerOnly = ['--python', '--save'];

function count(option: string, text: string, least = 1): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > 1024) {
    throw new UsageError(
      `bench: expected a whole number from ${least} to 1024 for ${option}, got "${text}".`,
    );
  }
  return value;
}

function pattern(option: string, text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    throw new UsageError(`bench: expected a regular expression for ${option}, got "${text}".`);
  }
}

interface Words {
  readonly suites: readonly string[];
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, string>;
}

function sortWords(words: readonly string[], known: readonly string[]): Words {
  const suites: string[] = [];
  const flags = new Set<string>();
  const values = new Map<string, string>();
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    if (flagNames.includes(word)) flags.add(word);
    else if (valueNames.includes(word)) {
      const value = words[++i];
      if (value === undefined)
        throw new UsageError(`bench: expected a value for ${word}, got none.\n${usage}`);
      values.set(word, value);
    } else if (word.startsWith('-')) {
      throw new UsageError(`bench: expected a known option, got "${word}".\n${usage}`);
    } else if (!known.includes(word)) {
      throw new UsageError(`bench: expected one of ${known.join(', ')} for the suite, got "${word}".`);
    } else if (suites.includes(word)) {
      throw new UsageError(`bench: expected each suite once, got "${word}" twice.`);
    } else suites.push(word);
  }
  return { suites, flags, values };
}

/** Parses the arguments after `npm run bench --`; throws for unknown ones. */
export function parseArguments(words: readonly string[], known: readonly string[]): Options {
  const { suites, flags, values } = sortWords(words, known);
  const only = values.get('--only');
  const against = values.get('--against') ?? null;
  const unfit = peerOnly.find((name) => flags.has(name) || values.has(name));
  if (against !== null && unfit !== undefined) {
    throw new UsageError(
      `bench: expected no ${unfit} with --against, which runs no PyTorch and saves nothing. Keep results with --json.`,
    );
  }
  const alone = against === null ? againstOnly.find((name) => flags.has(name)) : undefined;
  if (alone !== undefined) throw new UsageError(`bench: expected --against with ${alone}, got none.`);
  if (against !== null && suites.length === 0)
    throw new UsageError(`bench: expected at least one suite with --against, got none.\n${usage}`);
  return {
    suites,
    json: flags.has('--json'),
    only: only === undefined ? null : pattern('--only', only),
    // An interval over rounds needs two.
    rounds: count(
      '--rounds',
      values.get('--rounds') ?? (against === null ? '5' : '10'),
      against === null ? 1 : 2,
    ),
    threads: count('--threads', values.get('--threads') ?? '2'),
    peer: against === null && !flags.has('--no-peer'),
    save: flags.has('--save'),
    python: values.get('--python') ?? null,
    against,
    allowDifferent: flags.has('--allow-different'),
    theirCases: flags.has('--their-cases'),
    busy: count('--busy', values.get('--busy') ?? '0', 0),
  };
}
