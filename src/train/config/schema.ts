/** The whole schema. derive.ts turns parsed values into a `SkeinConfig` by filling in keys that depend on other keys. */
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
    model: required(
      modelSchema(),
      'the learning task, the encoder, the decoder, the loss and the optimisers',
    ),
    storage: required(storageSchema, 'the dataset, and where edges, embeddings and features are stored'),
    training: field(trainingSchema, {}, 'training'),
    evaluation: field(evaluationSchema(), {}, 'evaluation'),
    distributed: field(distributedSection(), null, {
      doc: 'training with several workers, which `skein run -n 4 train …` starts; without a launcher there is one worker',
      shown: 'the defaults, if there are several workers',
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
