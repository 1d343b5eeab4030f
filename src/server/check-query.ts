/** Checks the parameters of a path: one that is unknown or has another value is an error, because it would be ignored. */
import type { z } from '@hono/zod-openapi';
import { describe } from '../util/errors.js';
import { HttpError, invalid } from './http-error.js';
import type { ServerContext } from './routes.js';

export function checkQuery({ req }: ServerContext, schema: z.ZodObject | undefined): void {
  const parameters = Object.entries(schema?.shape ?? {}) as [string, z.ZodType][];
  const known = parameters.map(([name]) => name);
  for (const [name, values] of Object.entries(req.queries())) {
    const parameter = schema !== undefined && Object.hasOwn(schema.shape, name) ? schema.shape[name] : null;
    if (parameter === null)
      throw new HttpError(
        400,
        'invalid',
        `query: expected ${known.length === 0 ? 'no parameters' : `one of the parameters ${known.join(', ')}`}, got ${shown(name)}.`,
      );
    if (values.length > 1) throw invalid(`?${name}`, 'one value', `${values.length}`);
    const { success, error } = (parameter as z.ZodType).safeParse(values[0]);
    if (!success) throw invalid(`?${name}`, error.issues[0].message, shown(values[0]));
  }
  for (const [name, parameter] of parameters.filter(([one]) => req.query(one) === undefined)) {
    const { success, error } = parameter.safeParse(undefined);
    if (!success) throw invalid(`?${name}`, error.issues[0].message, 'none');
  }
}

const shown = (text: string): string => describe(text.length > 100 ? `${text.slice(0, 100)}…` : text);
