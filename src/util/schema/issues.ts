/** Turns zod's issues into problems. Separate from problem.ts, whose users in browsers do not depend on zod. */
import type { z } from 'zod';
import { valueAt } from './key-path.js';
import { type ConfigProblem, listAdvice, problem, unknownKey } from './problem.js';

export function problemsOf(error: z.ZodError, input: unknown): ConfigProblem[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    if (issue.code === 'unrecognized_keys') {
      const known = issue.message.split(' ').filter((key) => key !== '');
      return issue.keys.map((key) => unknownKey([...path, key], known));
    }
    const [what, advice] = issue.message.split('\u0001');
    const got = valueAt(input, path);
    const asList = issue.code === 'invalid_type' && issue.expected === 'array' ? listAdvice(got) : undefined;
    const fix = advice ?? asList ?? (got === undefined ? 'Add the key.' : 'Change the value.');
    return [problem(path, what, got, fix)];
  });
}
