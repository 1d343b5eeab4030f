/** The whole schema. What it accepts becomes a `SkeinConfig` in derive.ts, which fills in what depends on other keys. */
import type { z } from 'zod';
import { registryVersion } from '../../util/registry.js';
import { field, required, section } from '../../util/schema/fields.js';
import { pluginRecords } from './plugin-record.js';
import { distributedSection } from './schema-distributed.js';
import { modelSchema } from './schema-model.js';
import { storageSchema } from './schema-storage.js';
import { evaluationSchema, trainingSchema } from './schema-training.js';

const wholeSchema = () =>
  section({
    model: required(modelSchema(), 'what is learnt, and with which parts'),
    storage: required(storageSchema, 'the input, and where data lives'),
    training: field(trainingSchema, {}, 'how it is trained'),
    evaluation: field(evaluationSchema(), {}, 'how it is measured'),
    distributed: field(distributedSection(), null, {
      doc: 'how several workers share it; they are started by `skein run -n 4 train …`, and without a launcher there is one',
      shown: 'the defaults, where there are several workers',
    }),
    plugins: field(pluginRecords, [], {
      doc: 'the modules that registered types of this file, as recorded by training; only `--plugin` imports them',
      ours: true,
      shown: 'none',
    }),
  });

let made: { readonly version: number; readonly schema: ReturnType<typeof wholeSchema> } | null = null;

/** Returns the schema with all names that are registered now, including those of programs and plugins. */
export function configSchema(): ReturnType<typeof wholeSchema> {
  const version = registryVersion();
  if (made?.version !== version) made = { version, schema: wholeSchema() };
  return made.schema;
}

/** A file that passed the schema. */
export type ParsedConfig = z.output<ReturnType<typeof configSchema>>;
