/** The whole schema. What it accepts becomes a `SkeinConfig` in derive.ts, which fills in what depends on other keys. */
import type { z } from 'zod';
import { field, required, section } from '../../util/schema/fields.js';
import { wordsVersion } from '../../util/words.js';
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
      doc: 'the modules that words of this file came from, as training wrote them down; they are imported only by `--plugin`',
      ours: true,
      shown: 'none',
    }),
  });

let made: { readonly version: number; readonly schema: ReturnType<typeof wholeSchema> } | null = null;

/** The schema of the words that are known now: those of programs and plugins are among them. */
export function configSchema(): ReturnType<typeof wholeSchema> {
  const version = wordsVersion();
  if (made?.version !== version) made = { version, schema: wholeSchema() };
  return made.schema;
}

/** A file that passed the schema. */
export type ParsedConfig = z.output<ReturnType<typeof configSchema>>;
