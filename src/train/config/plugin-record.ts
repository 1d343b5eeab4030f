/**
 * Records of the plugin modules that registered a run's kind of model or types of its configuration: paths and checksums.
 * Training writes them into the configuration of the run. A record never causes a module to be imported.
 */
import { StateError } from '../../util/errors.js';
import { registeredNames } from '../../util/registry.js';
import { field, list, required, section, text } from '../../util/schema/fields.js';
import { problemsOf } from '../../util/schema/issues.js';
import type { ConfigProblem } from '../../util/schema/problem.js';

export interface PluginRecord {
  /** The path of the module in training. */
  readonly path: string;
  /** The checksum of its file, in hexadecimal. */
  readonly sha256: string;
  /** The registered names that a graph configuration uses: `model.decoder.type MINE`. */
  readonly words?: readonly string[];
}

const record = section({
  path: required(text('the path of a module'), { doc: 'path of the module in training', ours: true }),
  sha256: required(text('a checksum'), { doc: 'checksum of its file', ours: true }),
  words: field(list(text('a key and a name'), 'a list of keys and names'), [], {
    doc: 'its names that the configuration uses, such as `model.decoder.type MINE`',
    ours: true,
  }),
});
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

/** Returns the modules that registered names missing in this process, with the missing names. */
export function missingPlugins(plugins: unknown): PluginRecord[] {
  const known = registeredNames();
  return readPluginRecords(plugins).data.flatMap((plugin) => {
    const words = (plugin.words ?? []).filter((name) => !known.includes(name));
    return words.length === 0 ? [] : [{ ...plugin, words }];
  });
}

/** Returns the error for a run whose plugin was not given. */
export function missingPlugin(where: string, { path, sha256 }: PluginRecord, what: string): StateError {
  return new StateError(
    `${where}: expected --plugin ${path} (sha256 ${sha256}) for ${what}, got none. Plugins are imported only when they are given; in a program, pass plugins: ['${path}'].`,
  );
}

/** Throws if a name of the run is now registered by a different module. */
export function checkSamePlugins(
  where: string,
  saved: readonly PluginRecord[],
  now: readonly PluginRecord[],
): void {
  for (const before of saved)
    for (const after of now)
      if (before.sha256 !== after.sha256 && before.words?.some((name) => after.words?.includes(name)))
        throw otherPlugin(where, before, after);
}

/** Returns the error for a plugin that differs from the one a run was trained with. */
export function otherPlugin(where: string, before: PluginRecord, now: PluginRecord): StateError {
  return new StateError(
    `${where}: expected the plugin that the run was trained with (${before.path}, sha256 ${before.sha256}), got ${now.path} with sha256 ${now.sha256}. Pass the original file, or train a new run.`,
  );
}
