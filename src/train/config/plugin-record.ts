/**
 * What a run records of the modules that registered its kind of model, or types of its configuration: their paths and
 * checksums. Training writes it into the configuration of the run; nothing imports a module because of it.
 */
import { StateError } from '../../util/errors.js';
import { registeredNames } from '../../util/registry.js';
import { field, list, required, section, text } from '../../util/schema/fields.js';
import { problemsOf } from '../../util/schema/issues.js';
import type { ConfigProblem } from '../../util/schema/problem.js';

export interface PluginRecord {
  /** Where the module was. */
  readonly path: string;
  /** Of the bytes of its file, in hexadecimal. */
  readonly sha256: string;
  /** What a configuration of a graph has of it: `model.decoder.type MINE`. */
  readonly words?: readonly string[];
}

const record = section({
  path: required(text('the path of a module'), { doc: 'where the module was', ours: true }),
  sha256: required(text('a checksum'), { doc: 'of the bytes of its file', ours: true }),
  words: field(list(text('a key and a name'), 'a list of keys and names'), [], {
    doc: 'what the configuration has of it: `model.decoder.type MINE`',
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

/** Returns the modules with names that are not registered in this process, and these names. */
export function missingPlugins(plugins: unknown): PluginRecord[] {
  const known = registeredNames();
  return readPluginRecords(plugins).data.flatMap((plugin) => {
    const words = (plugin.words ?? []).filter((name) => !known.includes(name));
    return words.length === 0 ? [] : [{ ...plugin, words }];
  });
}

/** A module that a run needs was not named. */
export function missingPlugin(where: string, { path, sha256 }: PluginRecord, what: string): StateError {
  return new StateError(
    `${where}: expected --plugin ${path} (sha256 ${sha256}) for ${what}, got none. Modules are imported only when they are named; in a program: plugins: ['${path}'].`,
  );
}

/** Throws if a name of the run is now registered by another module than before. */
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

/** A module has other bytes than the one that a run was trained with. */
export function otherPlugin(where: string, before: PluginRecord, now: PluginRecord): StateError {
  return new StateError(
    `${where}: expected the plugin that the run was trained with (${before.path}, sha256 ${before.sha256}), got ${now.path} with sha256 ${now.sha256}. Give that file, or train a new run.`,
  );
}
