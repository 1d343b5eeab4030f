/**
 * What a run says of the modules that its kind of model came from: their paths and checksums. Training writes it into the
 * configuration of the run; nothing imports a module because of it.
 */
import { list, section, text } from '../../util/schema/fields.js';
import { type ConfigProblem, problemsOf } from '../../util/schema/issues.js';

export interface PluginRecord {
  /** Where the module was. */
  readonly path: string;
  /** Of the bytes of its file, in hexadecimal. */
  readonly sha256: string;
}

const record = section({ path: text('the path of a module'), sha256: text('a checksum') });
export const pluginRecords = list(record, 'a list of { path, sha256 }');
const schema = section({ plugins: pluginRecords.prefault([]) });

export function readPluginRecords(plugins: unknown): {
  readonly data: readonly PluginRecord[];
  readonly problems: readonly ConfigProblem[];
} {
  const given = plugins === undefined || plugins === null ? {} : { plugins };
  const parsed = schema.safeParse(given);
  if (parsed.success) return { data: parsed.data.plugins as readonly PluginRecord[], problems: [] };
  return { data: [], problems: problemsOf(parsed.error, given) };
}
