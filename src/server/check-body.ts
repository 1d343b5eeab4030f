/**
 * Checks bodies against their schemas. Long lists are checked in slices, between which other requests are answered. Errors
 * state where, what was expected and what was received.
 */
import { setImmediate } from 'node:timers/promises';
import { z } from '@hono/zod-openapi';
import { describe } from '../util/errors.js';
import { nearest } from '../util/nearest.js';
import { listRule } from './body-schemas.js';
import { type HttpError, invalid } from './http-error.js';

/** Entries of a list that are checked at once, about two milliseconds. */
const sliceSize = 2000;

export async function checkBody<S extends z.ZodObject>(schema: S, body: unknown): Promise<z.output<S>> {
  const long = longLists(schema, body);
  // The other keys first, with one entry of each long list.
  const cut = Object.fromEntries(long.map(({ key, entries }) => [key, entries.slice(0, 1)]));
  const outer = long.length === 0 ? body : { ...(body as object), ...cut };
  const checked = { ...(parse(schema, outer, [], body) as Record<string, unknown>) };
  for (const { key, entries, array } of long) {
    const rule = listRule(array);
    if (rule !== undefined && entries.length > rule.max) throw invalid(key, rule.error, gotText(entries));
    const kept: unknown[] = [];
    for (const [i, entry] of entries.entries()) {
      if (i > 0 && i % sliceSize === 0) await setImmediate();
      kept.push(parse(array.element as z.ZodType, entry, [key, i], body));
    }
    checked[key] = kept;
  }
  return checked as z.output<S>;
}

interface LongList {
  readonly key: string;
  readonly entries: readonly unknown[];
  readonly array: z.ZodArray;
}

function longLists(schema: z.ZodObject, body: unknown): LongList[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return [];
  return Object.entries(body).flatMap(([key, entries]: [string, unknown]) => {
    const array = Object.hasOwn(schema.shape, key) ? arrayOf(schema.shape[key] as z.ZodType) : undefined;
    if (array === undefined || !Array.isArray(entries) || entries.length <= sliceSize) return [];
    return [{ key, entries, array }];
  });
}

function arrayOf(schema: z.ZodType): z.ZodArray | undefined {
  const inner = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
  return inner instanceof z.ZodArray ? inner : undefined;
}

function parse(
  schema: z.ZodType,
  value: unknown,
  path: readonly (string | number)[],
  body: unknown,
): unknown {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw explain(error.issues[0], path, body);
}

function explain(issue: z.core.$ZodIssue, prefix: readonly (string | number)[], body: unknown): HttpError {
  const path = [...prefix, ...(issue.path as (string | number)[])];
  if (issue.code === 'unrecognized_keys') {
    const [key] = issue.keys;
    const known = issue.message.replace(/^one of the keys /, '').split(', ');
    const near = nearest(key.slice(0, 100), known);
    const hint = near === undefined ? '' : ` Did you mean ${near}?`;
    const error = invalid(pathText([...path, shorten(key)]), issue.message, 'an unknown key');
    error.message += hint;
    return error;
  }
  return invalid(pathText(path), issue.message, gotText(valueAt(body, path)));
}

const shorten = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text);

function pathText(path: readonly (string | number)[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  return text.replace(/^\./, '') || 'body';
}

function valueAt(body: unknown, path: readonly (string | number)[]): unknown {
  let value = body;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}

function gotText(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `a list of ${value.length.toLocaleString('en')}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'string' ? describe(shorten(value)) : describe(value);
}
