/**
 * Generates docs/configuration.md from the schema: one table per section and one per group of types. Keys without effect
 * come from the list that implements them.
 */
import { z } from 'zod';
import { initTypes } from '../../nn/start-values.js';
import { optimizerTypes } from '../../storage/optimizer-types.js';
import { temporalModelKinds } from '../../temporal/models/registry.js';
import { expectedOf, type FieldNote, flatVariants, noteOf, typeShapes } from '../../util/schema/fields.js';
import type { ConfigType } from '../../util/settings.js';
import { ignoredKeys } from './ignored.js';
import { configSchema } from './schema.js';

const listNames = (types: readonly ConfigType[]): string => types.map(({ name }) => name).join(' ');

/** Groups of types that several keys share; each gets a separate chapter. */
const chapters: readonly { readonly types: string; readonly title: string; readonly intro: string }[] = [
  { types: listNames(optimizerTypes), title: 'Optimisers', intro: '`{ type, options }`.' },
  {
    types: listNames(initTypes),
    title: 'Initial values',
    intro:
      '`{ type, options }`. Fan-in and fan-out are the last two dimensions; those of the node table are its nodes and its width.',
  },
  { types: 'ALL UNIFORM DROPOUT', title: 'Neighbour sampling', intro: '`{ type, options }`.' },
  {
    types: 'HOST_MEMORY FLAT_FILE PARTITION_BUFFER',
    title: 'Tables',
    intro:
      '`{ type, options }`. DEVICE_MEMORY is read as HOST_MEMORY, with a warning, except for embeddings on a GPU.',
  },
];

interface Row {
  readonly key: string;
  readonly value: string;
  readonly standard: string;
  readonly meaning: string;
}

/** Returns the schema of a key's value without defaults, preprocessing and null. */
function core(schema: z.ZodType): z.ZodType {
  const { def } = schema as unknown as {
    def: { type: string; innerType?: z.ZodType; out?: z.ZodType; in?: z.ZodType };
  };
  if (expectedOf(schema) !== undefined) return schema;
  if (def.type === 'prefault' || def.type === 'nullable') return core(def.innerType as z.ZodType);
  if (def.type === 'pipe') return core(def.out as z.ZodType);
  return schema;
}

const linkTo = (title: string): string =>
  `[${title.toLowerCase()}](#${title.toLowerCase().replaceAll(' ', '-')})`;

function typesOf(schema: z.ZodType): string[] {
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return [];
  return schema.options.map((member) => String([...(member as z.ZodObject).shape['type'].def.values][0]));
}

/** Returns the chapter of a group of types. Id tables have types of row tables but no PARTITION_BUFFER, and no chapter. */
const chapterOf = (types: readonly string[]) =>
  types[0] === 'HOST_MEMORY' && !types.includes('PARTITION_BUFFER')
    ? undefined
    : chapters.find(({ types: known }) =>
        types.every((type) => type === 'DEFAULT' || known.split(' ').includes(type)),
      );

/** Returns the innermost element of nested lists, and its index as text: `[i][j]`. */
function element(schema: z.ZodType, suffix = ''): { readonly item: z.ZodType; readonly suffix: string } {
  const inner = schema instanceof z.ZodArray ? core(schema.element as z.ZodType) : schema;
  if (schema instanceof z.ZodArray) return element(inner, `${suffix}[${'ijk'[suffix.length / 3]}]`);
  return { item: schema, suffix };
}

function standardOf(schema: z.ZodType, note: FieldNote): string {
  if (note.shown !== undefined) return note.shown;
  const { def } = schema as unknown as { def: { type: string; defaultValue?: unknown } };
  if (def.type !== 'prefault') return '**required**';
  const value = def.defaultValue;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const { type } = value as { type?: string };
    return type === undefined ? '' : `\`${type}\``;
  }
  return `\`${JSON.stringify(value).replaceAll('"', '')}\``;
}

/** Returns the rows of a key and of all keys below it. */
function rowsOf(key: string, schema: z.ZodType): Row[] {
  const note = noteOf(schema) ?? { doc: '' };
  const inner = core(schema);
  const { item, suffix } = element(inner);
  const types = typesOf(item);
  const chapter = types.length > 0 ? chapterOf(types) : undefined;
  const value =
    chapter !== undefined
      ? `${types.includes('DEFAULT') ? 'DEFAULT or ' : ''}${linkTo(chapter.title)}: ${types.filter((t) => t !== 'DEFAULT').join(', ')}`
      : types.length > 0
        ? `type: ${types.join(', ')}`
        : item instanceof z.ZodObject
          ? 'section'
          : (expectedOf(item) ?? 'value').replace(/^one of /, '');
  const meaning = note.ours === true ? `${note.doc} †` : note.doc;
  const row = { key: key + suffix, value, standard: standardOf(schema, note), meaning };
  if (chapter !== undefined) return [row];
  if (item instanceof z.ZodObject) return [row, ...shapeRows(key + suffix, item.shape)];
  if (types.length > 0) return [row, ...unionRows(key + suffix, item as z.ZodDiscriminatedUnion)];
  return [row];
}

function shapeRows(key: string, shape: Readonly<Record<string, unknown>>): Row[] {
  return Object.entries(shape).flatMap(([name, schema]) => rowsOf(`${key}.${name}`, schema as z.ZodType));
}

/** Returns the rows that all types share, then those of single types; a row of several types occurs once and names them. */
function unionRows(key: string, union: z.ZodDiscriminatedUnion): Row[] {
  const members = union.options as unknown as z.ZodObject[];
  const types = typesOf(union);
  const hasOptions = members.every((member) => 'options' in member.shape);
  const common = Object.entries(members[0].shape).filter(([name]) => name !== 'type' && name !== 'options');
  const merged = new Map<string, { readonly row: Row; readonly types: string[] }>();
  for (const [i, member] of members.entries())
    for (const row of ownRows(key, member)) {
      const id = JSON.stringify(row);
      const known = merged.get(id) ?? { row, types: [] };
      known.types.push(types[i]);
      merged.set(id, known);
    }
  const own = [...merged.values()].map(({ row, types: having }) =>
    having.length === types.length ? row : { ...row, meaning: `${having.join(', ')}: ${row.meaning}` },
  );
  return [...(hasOptions ? shapeRows(key, Object.fromEntries(common)) : []), ...own];
}

/** Returns the rows of the keys that are specific to one member of a union. */
function ownRows(key: string, member: z.ZodObject): Row[] {
  if (!('options' in member.shape)) {
    const { type: _type, ...keys } = member.shape;
    return shapeRows(key, keys);
  }
  const options = core(member.shape['options'] as z.ZodType);
  if (options instanceof z.ZodObject) return shapeRows(`${key}.options`, options.shape);
  if (!(options instanceof z.ZodDiscriminatedUnion)) return [];
  const value = typesOf(options).join(', ');
  const head = { key: `${key}.options.type`, value, standard: '`GRAPH_SAGE`', meaning: 'type of the layer' };
  return [head, ...unionRows(`${key}.options`, options)];
}

function table(rows: readonly Row[]): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|');
  const lines = rows.map(
    ({ key, value, standard, meaning }) =>
      `| \`${key}\` | ${cell(value)} | ${cell(standard)} | ${cell(meaning)} |`,
  );
  return ['| key | value | default | meaning |', '|---|---|---|---|', ...lines].join('\n');
}

/** Returns the first union with exactly these types in the schema. */
function findUnion(schema: z.ZodType, types: string): z.ZodDiscriminatedUnion | undefined {
  const { item } = element(core(schema));
  if (item instanceof z.ZodDiscriminatedUnion && typesOf(item).join(' ') === types) return item;
  const inside =
    item instanceof z.ZodDiscriminatedUnion
      ? (item.options as unknown as z.ZodObject[]).flatMap((member) => Object.values(member.shape))
      : item instanceof z.ZodObject
        ? Object.values(item.shape)
        : [];
  for (const inner of inside) {
    const found = findUnion(inner as z.ZodType, types);
    if (found !== undefined) return found;
  }
  return undefined;
}

function ignoredTable(): string {
  const lines = ignoredKeys.map(({ key, why, same }) => {
    const silent = same === undefined ? '' : `\`${JSON.stringify(same).replaceAll('"', '') || 'empty'}\``;
    return `| \`${key}\` | ${why} | ${silent} |`;
  });
  return ['| key | why | no warning for |', '|---|---|---|', ...lines].join('\n');
}

/** Documents the kinds of temporal models: a list, and the keys of their `model` section. */
function temporalModels(): string {
  const kinds = temporalModelKinds();
  const types = kinds.filter(({ settings }) => Object.keys(settings).length > 0);
  const shapes = typeShapes(types.map(({ kind, settings }) => ({ name: kind, settings })));
  const rows = unionRows('model', core(flatVariants(shapes, null)) as z.ZodDiscriminatedUnion);
  const list = kinds.map(({ kind, doc }) => `- \`${kind}\`: ${doc}`);
  return `${temporalIntro}\n\n${list.join('\n')}\n\n${table(rows)}`;
}

export function documentConfig(): string {
  const root = core(configSchema()) as z.ZodObject;
  const sections = Object.entries(root.shape).map(([name, schema]) => {
    const [head, ...rows] = rowsOf(name, schema as z.ZodType);
    return `## ${name}\n\n${capitalize(head.meaning)}.\n\n${table(rows)}`;
  });
  const shared = chapters.map(({ types, title, intro }) => {
    const union = findUnion(configSchema(), types);
    const rows = union === undefined ? [] : unionRows('', union);
    return `## ${title}\n\n${intro}\n\n${table(rows.map((row) => ({ ...row, key: row.key.replace(/^\./, '') })))}`;
  });
  return `${[intro, ...sections, ...shared, temporalModels(), noEffect, ignoredTable(), otherNames].join('\n\n')}\n`;
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const intro = `# Configuration

<!-- Written by \`npm run docs\` from src/train/config; a test fails when it is out of date. -->

A configuration is a YAML file with the four sections of Marius and one for several workers. A Marius file runs unchanged.
Keys marked † are extensions of Marius. Enumerations may be in upper or lower case. An unknown key is an error that names the
nearest known key. Any key can be set on the command line:
\`skein train file.yaml --training.num_epochs=5 --model.encoder.layers[0][0].output_dim=64\`. The value is YAML, so a list
needs brackets, and quotation marks for the shell: \`"--evaluation.metrics=[mrr, hits@10]"\`.
The resolved configuration, with every default and the seed, is written to the run directory as \`full_config.yaml\` and can
be trained again unchanged. \`skein config <dataset>\` prints a file to start from; keys given as \`--section.key=value\` are
set in it and checked as in training.

Editors complete and check keys with a JSON Schema: run \`skein config --schema > skein.schema.json\`, then write
\`# yaml-language-server: $schema=skein.schema.json\` as the first line of a configuration file. The package contains the
schema as \`docs/configuration.schema.json\`.`;

const temporalIntro = `## Temporal models

A configuration of an event stream has the sections of TGL's files (sampling, memory, gnn, train), or \`model: { kind, … }\` and
\`train\`: see [temporal.md](temporal.md#kinds-of-models). \`model: edge_bank\` is short for \`model: { kind: edge_bank }\`.
Plugins add further kinds.`;

const noEffect = `## Keys without effect

These keys are accepted because Marius accepts them. Each gives one warning, except with the value in the last column, which
requests what happens anyway.`;

const otherNames = `## Other names

| written | read as |
|---|---|
| \`training_sampling.neighbor_sampling_strategy\`, \`.max_neighbors_size\` | \`model.encoder.train_neighbor_sampling\`, the same for every GNN stage |
| \`evaluation_sampling.…\` | \`model.encoder.eval_neighbor_sampling\` |
| \`evaluation.filtered_evaluation\` | \`evaluation.negative_sampling.filtered\` |
| \`model.num_layers\` | dropped; it must equal the number of GNN stages |
| \`model.encoder.optimizer\` | \`model.dense_optimizer\` |
| \`model.embeddings.dimension\`, \`.init\` with a flat list of layers | a first stage with an EMBEDDING layer |
| a flat list of \`GRAPH_SAGE\`, \`GAT\`, … layers with samplers inside | one stage per layer |
| \`ouptut_dim\` of a layer | \`output_dim\` |
| \`storage.dataset.base_directory\`, \`feature_dim\` | \`dataset_dir\`, \`node_feature_dim\` |
| \`LP\`, \`NC\`; \`SOFTMAX\`; \`TWO_LEVEL_BETA\`, \`ELIMINATION\` | \`LINK_PREDICTION\`, \`NODE_CLASSIFICATION\`; \`SOFTMAX_CE\`; \`COMET\`, \`OLD_BETA\` |
| \`int\`, \`long\`; \`float\`, \`half\`, \`double\` | \`int32\`, \`int64\`; \`float32\`, \`float16\`, \`float32\` with a warning |
| \`cuda\`, \`gpu\` | \`webgpu\` if a GPU is found, otherwise \`cpu\` with a warning |
| \`DEVICE_MEMORY\` | \`HOST_MEMORY\`, with a warning, except for embeddings on a GPU |`;
