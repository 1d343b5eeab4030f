/**
 * What a run says of the modules that its kind of model, or words of its configuration, came from: their paths and
 * checksums. Training writes it into the configuration of the run; nothing imports a module because of it.
 */
import { StateError } from '../../util/errors.js';
import { field, list, required, section, text } from '../../util/schema/fields.js';
import { problemsOf } from '../../util/schema/issues.js';
import type { ConfigProblem } from '../../util/schema/problem.js';
import { registeredWords } from '../../util/words.js';

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
  words: field(list(text('a key and a word'), 'a list of keys and words'), [], {
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

/** The modules with words that nothing in this process has registered, and these words. */
export function missingPlugins(plugins: unknown): PluginRecord[] {
  const known = registeredWords();
  return readPluginRecords(plugins).data.flatMap((plugin) => {
    const words = (plugin.words ?? []).filter((word) => !known.includes(word));
    return words.length === 0 ? [] : [{ ...plugin, words }];
  });
}

/** A module that a run needs was not named. */
export function missingPlugin(where: string, { path, sha256 }: PluginRecord, what: string): StateError {
  return new StateError(
    `${where}: expected --plugin ${path} (sha256 ${sha256}) for ${what}, got none. Modules are imported only when they are named; in a program: plugins: ['${path}'].`,
  );
}

/** Refuses a module other than that which a word of a run came from. */
export function checkSamePlugins(
  where: string,
  saved: readonly PluginRecord[],
  now: readonly PluginRecord[],
): void {
  for (const before of saved)
    for (const after of now)
      if (before.sha256 !== after.sha256 && before.words?.some((word) => after.words?.includes(word)))
        throw otherPlugin(where, before, after);
}

/** A module has other bytes than the one that a run was trained with. */
export function otherPlugin(where: string, before: PluginRecord, now: PluginRecord): StateError {
  return new StateError(
    `${where}: expected the plugin that the run was trained with (${before.path}, sha256 ${before.sha256}), got ${now.path} with sha256 ${now.sha256}. Give that file, or train a new run.`,
  );
}
