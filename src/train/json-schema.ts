/** The JSON Schema of all configurations, for graphs and event streams. `skein config --schema` prints it. */
import { modelSections, withoutEffect } from '../temporal/config/keys.js';
import { temporalModelKinds } from '../temporal/models/registry.js';
import { choice, section, settingsShape } from '../util/schema/fields.js';
import { allowIgnored, type JsonSchema, jsonSchemaOf, withDefinitions } from '../util/schema/json-schema.js';
import { ignoredKeys } from './config/ignored.js';
import { pluginRecords } from './config/plugin-record.js';
import { configSchema } from './config/schema.js';
import { generalModel } from './tasks/events/model-section.js';
import { runSections } from './tasks/events/schema.js';

export function configJsonSchema(): JsonSchema {
  const graph = jsonSchemaOf(configSchema());
  allowIgnored(graph, ignoredKeys);
  const events = jsonSchemaOf(section({ ...runSections, ...eventSections }));
  allowIgnored(events, withoutEffect);
  allowListedSections(events);
  (events['properties'] as Record<string, JsonSchema>)['model'] = modelSchema([generalModel]);
  return withDefinitions({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Skein configuration',
    description:
      'A graph with Marius’s sections, or a stream of events with those of TGL or with a kind of temporal model.',
    // Files of event streams have one of TGL's own sections, or name a kind of model.
    if: { anyOf: [namesKind, ...generalSections.map((name) => ({ required: [name] }))] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: {
      if: { properties: { model: modelSchema([generalModel]) } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: events,
      else: otherKinds(),
    },
    else: graph,
  });
}

/** TGL's sections. */
const eventSections = Object.fromEntries(
  Object.entries(modelSections).map(([name, settings]) => [name, section(settingsShape(settings))]),
);

const generalSections = ['sampling', 'memory', 'gnn'] as const;

const namesKind = {
  required: ['model'],
  properties: { model: { anyOf: [{ type: 'string' }, { type: 'object', required: ['kind'] }] } },
};

/** Returns the schema of event streams with a kind of model other than `general`: built in, or from a plugin. */
function otherKinds(): JsonSchema {
  const { train } = eventSections;
  const events = jsonSchemaOf(section({ ...runSections, train }));
  allowIgnored(events, withoutEffect);
  const properties = events['properties'] as Record<string, JsonSchema>;
  properties['dataset'] = { anyOf: [{ type: 'string' }, properties['dataset']] };
  for (const name of generalSections)
    properties[name] = {
      deprecated: true,
      description: 'has no effect with a model.kind other than general',
    };
  const known = temporalModelKinds().map(({ kind }) => kind);
  properties['model'] = modelSchema(known.filter((kind) => kind !== generalModel));
  properties['plugins'] = jsonSchemaOf(pluginRecords);
  // `train` is not required: it has defaults.
  return { ...events, required: ['model'] };
}

/** Returns the schema of the section `model`: the given kinds, as a mapping or a name, and unknown kinds of plugins. */
function modelSchema(names: readonly string[]): JsonSchema {
  const kinds = temporalModelKinds().filter(({ kind }) => names.includes(kind));
  const members = kinds.map(({ kind, doc, settings }) => {
    const own = jsonSchemaOf(section({ kind: choice([kind]), ...settingsShape(settings) }));
    return { ...own, description: doc };
  });
  if (names.includes(generalModel)) return { anyOf: [{ enum: [...names] }, ...members] };
  const others = temporalModelKinds().map(({ kind }) => `(?!${kind}$)`);
  const pattern = `^${others.join('')}[A-Za-z][A-Za-z0-9_]*$`;
  const plugin = { type: 'object', required: ['kind'], properties: { kind: { type: 'string', pattern } } };
  return { anyOf: [{ enum: [...names] }, { type: 'string', pattern }, ...members, plugin] };
}

/** Keys of TGL that are read as other keys. */
const readAsOthers = { no_sample: { type: 'boolean', description: 'true: strategy identity' } };

/** Allows each section as a list of one mapping, as TGL writes them, and a dataset as a name. */
function allowListedSections(events: JsonSchema): void {
  const properties = events['properties'] as Record<string, JsonSchema>;
  Object.assign(properties['sampling']['properties'] as object, readAsOthers);
  for (const name of Object.keys(modelSections))
    properties[name] = {
      anyOf: [properties[name], { type: 'array', items: properties[name], minItems: 1, maxItems: 1 }],
    };
  properties['dataset'] = { anyOf: [{ type: 'string' }, properties['dataset']] };
}
