/** The whole schema. What it accepts becomes a `SkeinConfig` in derive.ts, which fills in what depends on other keys. */
import type { z } from 'zod';
import { field, required, section } from './fields.js';
import { modelSchema } from './schema-model.js';
import { storageSchema } from './schema-storage.js';
import { evaluationSchema, trainingSchema } from './schema-training.js';

export const configSchema = section({
  model: required(modelSchema, 'what is learnt, and with which parts'),
  storage: required(storageSchema, 'the input, and where data lives'),
  training: field(trainingSchema, {}, 'how it is trained'),
  evaluation: field(evaluationSchema, {}, 'how it is measured'),
});

/** A file that passed the schema. */
export type ParsedConfig = z.output<typeof configSchema>;
