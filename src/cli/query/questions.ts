/** Questions of `skein query`: from the options of the command, or one JSON object per line of a file. */
import { readFileSync } from 'node:fs';
import { isoSeconds } from '../../data/formats/iso-time.js';
import { readWholeFile } from '../../storage/atomic-file.js';
import { FormatError, ValueError } from '../../util/errors.js';
import { nearest } from '../../util/nearest.js';

/** Fields of a question; exactly one of the first four. */
export interface Question {
  readonly head?: string;
  readonly tail?: string;
  readonly neighbors?: string;
  readonly classify?: string;
  readonly relation?: string;
  readonly time?: number;
}

export type QuestionKind = 'head' | 'tail' | 'neighbors' | 'classify';

/** A question of a file, with its line. */
export interface ListedQuestion {
  readonly question: Question;
  readonly line: number;
}

const kinds: readonly QuestionKind[] = ['head', 'tail', 'neighbors', 'classify'];
const fields = [...kinds, 'relation', 'time'] as const;

/** Returns the field that says what a question asks for; undefined if there is none or more than one. */
export function kindOf(question: Question): QuestionKind | undefined {
  const given = kinds.filter((kind) => question[kind] !== undefined);
  return given.length === 1 ? given[0] : undefined;
}

/** Reads the questions of a file, or of standard input for `-`. Empty lines are skipped. */
export async function readQuestions(path: string): Promise<ListedQuestion[]> {
  const bytes = path === '-' ? readFileSync(0) : await readWholeFile(path);
  const lines = new TextDecoder().decode(bytes).split('\n');
  const found = lines.flatMap((text, i) =>
    text.trim() === '' ? [] : [{ question: parseQuestion(path, i + 1, text), line: i + 1 }],
  );
  if (found.length > 0) return found;
  throw new FormatError(`${path}: expected a question per line, such as {"head":"ana"}, got none.`, { path });
}

function parseQuestion(path: string, line: number, text: string): Question {
  const fail = (what: string, got: string): never => {
    throw new FormatError(`${path}:${line}: expected ${what}, got ${got}.`, { path, line });
  };
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // Falls through to the message for everything that is not an object.
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return fail('a JSON object such as {"head":"ana","relation":"knows"}', text.slice(0, 60));
  const question: Record<string, string | number> = {};
  for (const [name, given] of Object.entries(value)) {
    if (!(fields as readonly string[]).includes(name)) {
      const close = nearest(name, fields);
      fail(`one of ${fields.join(', ')}`, close === undefined ? name : `${name}. Did you mean ${close}?`);
    }
    if (typeof given !== 'string' && typeof given !== 'number')
      fail(`a name for ${name}`, JSON.stringify(given));
    question[name] = name === 'time' ? parseTime(`${path}:${line}`, String(given)) : String(given);
  }
  if (kindOf(question) === undefined) fail(`one of ${kinds.join(', ')}`, text.slice(0, 60));
  return question;
}

/** Parses a time: a number in the unit of the stream, or an ISO 8601 date, which means seconds since 1970. */
export function parseTime(where: string, text: string, name = 'time'): number {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  const time = Number.isFinite(number) ? number : isoSeconds(text);
  if (Number.isFinite(time)) return time;
  throw new ValueError(`${where}: expected a number or an ISO 8601 date for ${name}, got ${text}.`);
}
