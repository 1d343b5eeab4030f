/** The resolved sections of a temporal run beside TGL's: what training reads, every default filled in. From the schema. */
import type { ReadonlyOutput } from '../../../util/schema/fields.js';
import type { temporalRunSchema } from './schema.js';

export type TemporalRunSections = ReadonlyOutput<typeof temporalRunSchema>;
