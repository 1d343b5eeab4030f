/**
 * What a run says of the modules that its kind of model came from: their paths and checksums. Training writes it into the
 * configuration of the run; nothing imports a module because of it.
 */
import { StateError } from '../../util/errors.js';
import { list, section, text } from '../../util/schema/fields.js';
import { problemsOf } from '../../util/schema/issues.js';
import type { ConfigProblem } from '../../util/schema/problem.js';

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

/** A module has other bytes than the one that a run was trained with. */
export function otherPlugin(where: string, before: PluginRecord, now: PluginRecord): StateError {
  return new StateError(
    `${where}: expected the plugin that the run was trained with (${before.path}, sha256 ${before.sha256}), got ${now.path} with sha256 ${now.sha256}. Give that file, or train a new run.`,
  );
}
