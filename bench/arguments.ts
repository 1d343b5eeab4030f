/** The command line of `npm run bench`. */

export interface Options {
  /** Null: list the suites. */
  readonly suite: string | null;
  readonly json: boolean;
  /** Cases whose name contains this or matches it as a regular expression. */
  readonly only: RegExp | null;
  readonly rounds: number;
  readonly threads: number;
  readonly peer: boolean;
  /** Append the results to results/<suite>.jsonl. */
  readonly save: boolean;
  /** Interpreter of the peer; null: look for one that has PyTorch. */
  readonly python: string | null;
}

/** A wrong word on the command line: one sentence, exit code 2. */
export class UsageError extends Error {}

export const usage = `usage: npm run bench -- <suite> [options]
  --json            one line of JSON a case on stdout; the table goes to stderr
  --only <pattern>  only cases whose name matches (regular expression)
  --rounds <n>      fresh processes per side and case, in alternating order (default 5)
  --threads <n>     threads of each side (default 2)
  --no-peer         our side only
  --python <path>   the interpreter that has PyTorch (default: the first found that has it)
  --save            append the results to bench/results/<suite>.jsonl`;

function count(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 1024) {
    throw new UsageError(`bench: expected a whole number from 1 to 1024 for ${option}, got "${text}".`);
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

/** Reads the words after `npm run bench --`; refuses what it does not know. */
export function parseArguments(words: readonly string[], suites: readonly string[]): Options {
  let suite: string | null = null;
  const flags = new Set<string>();
  const values = new Map<string, string>();
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    if (['--json', '--no-peer', '--save'].includes(word)) flags.add(word);
    else if (['--only', '--rounds', '--threads', '--python'].includes(word)) {
      const value = words[++i];
      if (value === undefined)
        throw new UsageError(`bench: expected a value for ${word}, got none.\n${usage}`);
      values.set(word, value);
    } else if (word.startsWith('-')) {
      throw new UsageError(`bench: expected a known option, got "${word}".\n${usage}`);
    } else if (suite !== null) {
      throw new UsageError(
        `bench: expected one suite, got "${suite}" and "${word}". Run one after the other.`,
      );
    } else if (suites.includes(word)) suite = word;
    else throw new UsageError(`bench: expected one of ${suites.join(', ')} for the suite, got "${word}".`);
  }
  const only = values.get('--only');
  return {
    suite,
    json: flags.has('--json'),
    only: only === undefined ? null : pattern('--only', only),
    rounds: count('--rounds', values.get('--rounds') ?? '5'),
    threads: count('--threads', values.get('--threads') ?? '2'),
    peer: !flags.has('--no-peer'),
    save: flags.has('--save'),
    python: values.get('--python') ?? null,
  };
}
