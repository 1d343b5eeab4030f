/**
 * docs/configuration.md, written from the schema: one table a section, one for each group of types. What is not in the
 * schema (no effect, other names) comes from the tables that implement it.
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

/** Groups of types that occur in several places get a chapter of their own. */
const chapters: readonly { readonly types: string; readonly title: string; readonly intro: string }[] = [
  { types: listNames(optimizerTypes), title: 'Optimisers', intro: '`{ type, options }`.' },
  {
    types: listNames(initTypes),
    title: 'Start values',
    intro:
      '`{ type, options }`. Fans are the last two dimensions; of the node table these are nodes and width.',
  },
  { types: 'ALL UNIFORM DROPOUT', title: 'Neighbour sampling', intro: '`{ type, options }`.' },
  {
    types: 'HOST_MEMORY FLAT_FILE PARTITION_BUFFER',
    title: 'Tables',
    intro:
      '`{ type, options }`. DEVICE_MEMORY is read as HOST_MEMORY, with a warning; for embeddings only where `device_type` is cpu.',
  },
];

interface Row {
  readonly key: string;
  readonly value: string;
  readonly standard: string;
  readonly meaning: string;
}

/** Takes off defaults, preprocessing and null: what a key holds. */
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

/** Id tables have the types of row tables, but not their options: the partition buffer tells them apart. */
const chapterOf = (types: readonly string[]) =>
  types[0] === 'HOST_MEMORY' && !types.includes('PARTITION_BUFFER')
    ? undefined
    : chapters.find(({ types: known }) =>
        types.every((type) => type === 'DEFAULT' || known.split(' ').includes(type)),
      );

/** The element of lists of lists, and how it is reached: `[i][j]`. */
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

/** The rows of a key and of everything below it. */
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

/** Keys that all types share, then those of each type; a row that several types have stands once and names them. */
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

/** The keys of one member of a union that the others need not have. */
function ownRows(key: string, member: z.ZodObject): Row[] {
  if (!('options' in member.shape)) {
    const { type: _type, ...keys } = member.shape;
    return shapeRows(key, keys);
  }
  const options = core(member.shape['options'] as z.ZodType);
  if (options instanceof z.ZodObject) return shapeRows(`${key}.options`, options.shape);
  if (!(options instanceof z.ZodDiscriminatedUnion)) return [];
  const value = typesOf(options).join(', ');
  const head = { key: `${key}.options.type`, value, standard: '`GRAPH_SAGE`', meaning: 'the kind of layer' };
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

/** The largest union with these types, wherever it is in the schema. */
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

/** The kinds of models of event streams: a list, and the keys that their section `model` takes. */
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
  const parts = Object.entries(root.shape).map(([name, schema]) => {
    const [head, ...rows] = rowsOf(name, schema as z.ZodType);
    return `## ${name}\n\n${capital(head.meaning)}.\n\n${table(rows)}`;
  });
  const shared = chapters.map(({ types, title, intro }) => {
    const union = findUnion(configSchema(), types);
    const rows = union === undefined ? [] : unionRows('', union);
    return `## ${title}\n\n${intro}\n\n${table(rows.map((row) => ({ ...row, key: row.key.replace(/^\./, '') })))}`;
  });
  return `${[intro, ...parts, ...shared, temporalModels(), noEffect, ignoredTable(), otherNames].join('\n\n')}\n`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const intro = `# Configuration

<!-- Written by \`npm run docs\` from src/train/config; a test fails when it is out of date. -->

A configuration is a YAML file with the four sections that Marius has, and one for several workers: a file that runs there
runs here. Keys marked † are ours. Enumerations may be in any case. An unknown key is an error that names the nearest known one. Any key can be
given on the command line: \`skein train file.yaml --training.num_epochs=5 --model.encoder.layers[0][0].output_dim=64\`;
the value is YAML, so a list has brackets, and quotation marks for the shell: \`"--evaluation.metrics=[mrr, hits@10]"\`.
The resolved configuration, with every default and the seed, is written beside the run as
\`full_config.yaml\`, and can be trained again as it is. \`skein config <dataset>\` prints a file to start from,
with the keys that are given to it (as \`--section.key=value\`, checked as in training) set.

Editors complete and check keys by a JSON Schema: \`skein config --schema > skein.schema.json\`, then
\`# yaml-language-server: $schema=skein.schema.json\` as the first line of a file. The package has it as
\`docs/configuration.schema.json\`.`;

const temporalIntro = `## Temporal models

A stream of events is trained with the sections of TGL's files (sampling, memory, gnn, train), or with \`model: { kind, … }\` and
\`train\`: [temporal.md](temporal.md#kinds-of-models). \`model: edge_bank\` is short for \`model: { kind: edge_bank }\`. Plugins add others.`;

const noEffect = `## Keys without effect

Accepted, because the originals accept them; each gives one warning, except for the value that says what happens anyway.`;

const otherNames = `## Other names

| written | read as |
|---|---|
| \`training_sampling.neighbor_sampling_strategy\`, \`.max_neighbors_size\` | \`model.encoder.train_neighbor_sampling\`, the same for every GNN stage |
| \`evaluation_sampling.…\` | \`model.encoder.eval_neighbor_sampling\` |
| \`evaluation.filtered_evaluation\` | \`evaluation.negative_sampling.filtered\` |
| \`model.num_layers\` | the number of GNN stages, which it must equal |
| \`model.encoder.optimizer\` | \`model.dense_optimizer\` |
| \`model.embeddings.dimension\`, \`.init\` with a flat list of layers | a first stage with an EMBEDDING layer |
| a flat list of \`GRAPH_SAGE\`, \`GAT\`, … layers with samplers inside | one stage per layer |
| \`ouptut_dim\` of a layer | \`output_dim\` |
| \`storage.dataset.base_directory\`, \`feature_dim\` | \`dataset_dir\`, \`node_feature_dim\` |
| \`LP\`, \`NC\`; \`SOFTMAX\`; \`TWO_LEVEL_BETA\`, \`ELIMINATION\` | \`LINK_PREDICTION\`, \`NODE_CLASSIFICATION\`; \`SOFTMAX_CE\`; \`COMET\`, \`OLD_BETA\` |
| \`int\`, \`long\`; \`float\`, \`half\`, \`double\` | \`int32\`, \`int64\`; \`float32\`, \`float16\`, \`float32\` with a warning |
| \`cuda\`, \`gpu\` | \`webgpu\` where a graphics processor is found, else \`cpu\`, with a warning |
| \`DEVICE_MEMORY\` | \`HOST_MEMORY\`, with a warning; for embeddings only on the \`cpu\` |`;
