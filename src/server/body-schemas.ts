/**
 * Schemas of bodies. They check requests, and `/openapi.json` and the tools of `skein mcp` are generated from them. The
 * message of a schema states what it expects; check-body.ts adds where, and what came instead.
 */
import { z } from '@hono/zod-openapi';
import type { ServeLimits } from './limits.js';

/** An object without other keys. */
export function object<S extends z.core.$ZodLooseShape>(shape: S): z.ZodObject<S, z.core.$strict> {
  const keys = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? `one of the keys ${keys}` : `an object with ${keys}`,
  });
}

interface ListRule {
  readonly min: number;
  readonly max: number;
  readonly error: string;
}

const rules = new WeakMap<z.ZodType, ListRule>();

/** The allowed lengths of a list that `list` made. */
export const listRule = (schema: z.ZodType): ListRule | undefined => rules.get(schema);

/** A list of `min` (default 1) to `max` entries. */
export function list<T extends z.ZodType>(item: T, what: string, max: number, min = 1): z.ZodArray<T> {
  const error = `a list of ${min} to ${max.toLocaleString('en')} ${what}`;
  const schema = z.array(item, { error }).min(min, { error }).max(max, { error });
  rules.set(schema, { min, max, error });
  return schema;
}

export function choice<const T extends readonly [string, ...string[]]>(words: T) {
  return z.enum(words, { error: words.join(' or ') });
}

const nameError = 'a name: text of 1 to 1000 characters, or an integer up to 2^53 - 1';

/** Larger integers have been rounded when JSON was parsed, so that different names would become one. */
export const name = z
  .union(
    [
      z.string({ error: nameError }).min(1, { error: nameError }).max(1000, { error: nameError }),
      z.int({ error: nameError }),
    ],
    {
      error: nameError,
    },
  )
  .openapi({ description: 'A name as in the data that the model was trained with', example: 'ana' });

const timeError = 'a finite number, or a date such as "2026-11-18T12:00:00Z"';

/** A number in the unit of the stream, or a date. */
export const time = z
  .union([z.number({ error: timeError }), z.iso.datetime({ offset: true, error: timeError })], {
    error: timeError,
  })
  .openapi({ description: 'In the unit of the stream, or a date for a stream in seconds' });

export const flag = z.boolean({ error: 'true or false' });

export const edge = object({
  head: name,
  tail: name,
  relation: name.optional(),
  time: time.optional(),
}).openapi('Edge');

export const question = object({
  head: name.optional(),
  tail: name.optional(),
  relation: name.optional(),
  time: time.optional(),
}).openapi('Question', { description: 'An edge without the end that is asked for' });

const number = z.number({ error: 'a finite number' });

const idError = 'an id of 1 to 128 characters';

/** A text by which a repeated event or request is recognised. */
export const eventId = z.string({ error: idError }).min(1, { error: idError }).max(128, { error: idError });

export const event = object({
  id: eventId.optional().openapi({ description: 'An event with a known id changes nothing' }),
  head: name,
  tail: name,
  time,
  type: z.string({ error: 'the name of a type' }).max(1000, { error: 'the name of a type' }).optional(),
  features: list(number, 'numbers', 4096, 0).optional(),
}).openapi('Event');

export const streamNode = object({
  name,
  side: choice(['head', 'tail']).optional().openapi({ description: 'A tail can be recommended from now on' }),
  features: list(number, 'numbers', 65_536, 0).optional(),
}).openapi('StreamNode');

const cellError = 'text, a number, true, false, null or a list of numbers';

/** A new node: a column of the table of nodes per key. */
const nodeRecord = z
  .record(
    z.string().max(1000, { error: 'a key of at most 1000 characters' }),
    z.union(
      [
        z.string().max(100_000, { error: 'text of at most 100,000 characters' }),
        z.number(),
        z.boolean(),
        z.null(),
        list(number, 'numbers', 65_536, 0),
      ],
      {
        error: cellError,
      },
    ),
    { error: 'an object of columns' },
  )
  .openapi('Node', { description: 'A new node: its name (id) and its columns, as in training' });

const newEdge = object({ source: name, target: name, relation: name.optional() }).openapi('NewEdge');

export function newNodes({ maxQuestions, maxEdges }: ServeLimits) {
  return {
    nodes: list(nodeRecord, 'nodes', maxQuestions),
    edges: list(newEdge, 'edges', maxEdges, 0).optional(),
  };
}

export function count({ maxK }: ServeLimits) {
  const error = `a whole number from 1 to ${maxK}`;
  return z
    .int({ error })
    .min(1, { error })
    .max(maxK, { error })
    .optional()
    .openapi({ description: 'Maximum number of answers (default 10)' });
}

const ranked = z
  .object({
    name: z.string(),
    score: z.number(),
    probability: z.number().optional(),
    known: z.boolean().optional(),
  })
  .openapi('Ranked');

export const rankedLists = z
  .object({ answers: z.array(z.array(ranked)) })
  .openapi('RankedLists', { description: 'One list per question, the best first' });

export const errorBody = z
  .object({ error: z.string(), code: z.string(), suggestions: z.array(z.string()).optional() })
  .openapi('Error');

/** Converts the time of a body to that of a predictor. */
export function toTime(given: number | string): number | Date {
  return typeof given === 'string' ? new Date(given) : given;
}
