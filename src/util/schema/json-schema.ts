/**
 * Converts a schema to a JSON Schema (draft 2020-12), for completion, documentation and misspelt keys in editors. It
 * describes files as they are written: keys with a default may be absent, a section may be empty, names may be in any
 * case.
 */
import { z } from 'zod';
import { aliasesOfChoice, defaultOf, noteOf, standardOfUnion } from './fields.js';
import type { IgnoredKey } from './ignored.js';

export type JsonSchema = { [key: string]: unknown };

/** The fields of zod's definition of a type that are used here. */
interface Definition {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly out?: z.ZodType;
}

const definitionOf = (schema: z.ZodType): Definition => (schema as unknown as { def: Definition }).def;

export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const own = typeSchema(schema);
  const note = noteOf(schema);
  const standard = defaultOf(schema);
  return {
    ...own,
    ...(note === undefined || note.doc === '' ? {} : { description: note.doc }),
    // The default of a section follows from its keys.
    ...(standard === undefined || isObject(standard) || note?.shown !== undefined
      ? {}
      : { default: standard }),
  };
}

function typeSchema(schema: z.ZodType): JsonSchema {
  const { type, innerType, in: input, out } = definitionOf(schema);
  if (type === 'prefault') return jsonSchemaOf(innerType as z.ZodType);
  if (type === 'nullable') return orNull(jsonSchemaOf(innerType as z.ZodType));
  // A preprocessing step precedes the type that is read; a transformation follows it.
  if (type === 'pipe') {
    const before = definitionOf(input as z.ZodType).type === 'transform';
    return jsonSchemaOf((before ? out : input) as z.ZodType);
  }
  if (schema instanceof z.ZodObject) return objectSchema(schema);
  if (schema instanceof z.ZodDiscriminatedUnion) return unionSchema(schema);
  if (schema instanceof z.ZodArray)
    return { type: 'array', items: jsonSchemaOf(schema.element as z.ZodType) };
  if (schema instanceof z.ZodEnum) return anyCase(schema.options.map(String), aliasesOfChoice(schema));
  const { $schema: _, ...plain } = z.toJSONSchema(schema, { unrepresentable: 'any' }) as JsonSchema;
  return withinLimits(plain);
}

/** Removes the bounds of safe integers, which zod adds to every whole number. */
function withinLimits(schema: JsonSchema): JsonSchema {
  const { minimum, maximum, ...rest } = schema;
  return {
    ...rest,
    ...(typeof minimum === 'number' && minimum > Number.MIN_SAFE_INTEGER ? { minimum } : {}),
    ...(typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER ? { maximum } : {}),
  };
}

function objectSchema(schema: z.ZodObject): JsonSchema {
  const keys = Object.entries(schema.shape) as [string, z.ZodType][];
  const required = keys.filter(([, key]) => definitionOf(key).type !== 'prefault').map(([name]) => name);
  return {
    type: required.length === 0 ? ['object', 'null'] : 'object',
    properties: Object.fromEntries(keys.map(([name, key]) => [name, jsonSchemaOf(key)])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

/** Makes one member per type; the default type may be absent in the file. */
function unionSchema(union: z.ZodDiscriminatedUnion): JsonSchema {
  const standard = standardOfUnion(union);
  const aliases = Object.entries(standard?.aliases ?? {});
  const members = (union.options as unknown as z.ZodObject[]).map((member) => {
    const { type, ...shape } = member.shape as Record<string, z.ZodType>;
    const [name] = [...(type as unknown as z.ZodLiteral).def.values].map(String);
    const others = aliases.filter(([, meant]) => meant === name).map(([alias]) => alias);
    const object = objectSchema(z.object(shape));
    return {
      ...object,
      type: 'object',
      properties: { type: anyCase([name], others), ...(object['properties'] as object) },
      required: [...(name === standard?.type ? [] : ['type']), ...((object['required'] as string[]) ?? [])],
    };
  });
  return standard === undefined ? { anyOf: members } : { anyOf: [...members, { type: 'null' }] };
}

/** Accepts names as documented, which editors offer, or in any case. */
function anyCase(names: readonly string[], others: readonly string[] = []): JsonSchema {
  const pattern = [...names, ...others].map(anyCasePattern).join('|');
  return { anyOf: [{ enum: [...names] }, { type: 'string', pattern: `^(${pattern})$` }] };
}

/** Returns a regular expression that matches a name in any case. */
export function anyCasePattern(name: string): string {
  const letter = (c: string): string =>
    c.toLowerCase() === c.toUpperCase()
      ? c.replace(/[^\w]/, '\\$&')
      : `[${c.toUpperCase()}${c.toLowerCase()}]`;
  return [...name].map(letter).join('');
}

function orNull(schema: JsonSchema): JsonSchema {
  const { description, ...rest } = schema;
  return { ...(description === undefined ? {} : { description }), anyOf: [rest, { type: 'null' }] };
}

/** Adds keys that have no effect, so that an editor shows this instead of an unknown key. */
export function allowIgnored(schema: JsonSchema, ignored: readonly IgnoredKey[]): void {
  for (const { key, why } of ignored) {
    const parts = key.split('.');
    const last = parts.pop() as string;
    for (const holder of holders(schema, parts)) {
      const properties = holder['properties'] as Record<string, unknown> | undefined;
      if (properties !== undefined && !(last in properties))
        properties[last] = { deprecated: true, description: `has no effect, ${why}` };
    }
  }
}

/** Returns the object schemas at a path, in all members of unions. */
function holders(schema: JsonSchema, parts: readonly string[]): JsonSchema[] {
  const members = schema['anyOf'] as JsonSchema[] | undefined;
  if (members !== undefined) return members.flatMap((member) => holders(member, parts));
  if (parts.length === 0) return [schema];
  const [head, ...rest] = parts;
  const next =
    head === '*'
      ? (schema['items'] as JsonSchema | undefined)
      : (schema['properties'] as Record<string, JsonSchema> | undefined)?.[head];
  return next === undefined ? [] : holders(next, rest);
}

/**
 * Moves schemas that occur several times, such as the optimiser of each layer, to `$defs`. Small ones stay in place. A
 * definition is named after the key where it is found first.
 */
export function withDefinitions(root: JsonSchema): JsonSchema {
  const counts = new Map<string, number>();
  const count = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (isShareable(value)) {
      const text = JSON.stringify(value);
      counts.set(text, (counts.get(text) ?? 0) + 1);
      // The content of a repeated schema is repeated with it, so it is not counted again.
      if ((counts.get(text) as number) > 1) return;
    }
    for (const part of Object.values(value)) count(part);
  };
  count(root);
  const names = new Map<string, string>();
  const definitions: JsonSchema = {};
  const replaced = (value: unknown, key: string): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((part) => replaced(part, key));
    const text = isShareable(value) ? JSON.stringify(value) : '';
    if ((counts.get(text) ?? 0) < 2) return inner(value, key);
    let name = names.get(text);
    if (name === undefined) {
      name = key in definitions ? `${key}_${names.size}` : key;
      names.set(text, name);
      definitions[name] = {};
      definitions[name] = inner(value, key);
    }
    return { $ref: `#/$defs/${name}` };
  };
  const inner = (value: object, key: string): JsonSchema =>
    Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, replaced(part, structural.has(name) ? key : name)]),
    );
  const body = inner(root, 'root');
  return { ...body, $defs: definitions };
}

/** Keywords; their content is named after the key above them. */
const structural = new Set(['properties', 'anyOf', 'items', 'then', 'else', 'if']);

const isShareable = (value: object): boolean =>
  ('properties' in value || 'anyOf' in value) && JSON.stringify(value).length > 200;

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
