/** The JSON Schema of all configurations: of graphs, and of event streams. `skein config --schema` prints it. */
import { modelSections, withoutEffect } from '../temporal/config/keys.js';
import { section } from '../util/schema/fields.js';
import { allowIgnored, type JsonSchema, jsonSchemaOf, withDefinitions } from '../util/schema/json-schema.js';
import { ignoredKeys } from './config/ignored.js';
import { configSchema } from './config/schema.js';
import { runSections } from './temporal/schema.js';

export function configJsonSchema(): JsonSchema {
  const graph = jsonSchemaOf(configSchema);
  allowIgnored(graph, ignoredKeys);
  const events = jsonSchemaOf(section({ ...runSections, ...modelSections }));
  allowIgnored(events, withoutEffect);
  listed(events);
  return withDefinitions({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Skein configuration',
    description: 'A graph with Marius’s sections, or a stream of events with those of TGL.',
    // Files of event streams have one of TGL's own sections.
    if: { anyOf: ['sampling', 'memory', 'gnn'].map((name) => ({ required: [name] })) },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: events,
    else: graph,
  });
}

/** Words of TGL that are read as others. */
const readAsOthers = { no_sample: { type: 'boolean', description: 'true: strategy identity' } };

/** TGL writes each of its sections as a list of one mapping; a dataset may be a name alone. */
function listed(events: JsonSchema): void {
  const properties = events['properties'] as Record<string, JsonSchema>;
  Object.assign(properties['sampling']['properties'] as object, readAsOthers);
  for (const name of Object.keys(modelSections))
    properties[name] = {
      anyOf: [properties[name], { type: 'array', items: properties[name], minItems: 1, maxItems: 1 }],
    };
  properties['dataset'] = { anyOf: [{ type: 'string' }, properties['dataset']] };
}
