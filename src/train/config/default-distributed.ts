/** In a file of its own, so that the public types reach no schema: whoever compiles against them need not have zod's types. */
import { distributedSchema } from './schema-distributed.js';
import type { DistributedConfig } from './types.js';

/** The `distributed` section where a file has none. */
export function defaultDistributed(): DistributedConfig {
  return distributedSchema.parse({});
}
