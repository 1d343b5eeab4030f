/** The work of `skein new`: writes a small project that trains and asks a model. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { writeFileAtomic } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';
import { Output } from '../../train/index.js';
import { StorageError, ValueError } from '../../util/errors.js';
import { projectFiles } from './template.js';

export interface NewCommand {
  readonly json: boolean;
}

export async function newCommand(directory: string, { json }: NewCommand): Promise<void> {
  const output = new Output({ json });
  const target = resolve(directory);
  const name = packageName(basename(target));
  checkEmpty(target);
  const files = projectFiles(name);
  for (const [path, text] of Object.entries(files)) {
    const file = join(target, ...path.split('/'));
    makeFolder(dirname(file));
    await writeFileAtomic(file, new TextEncoder().encode(text));
  }
  output.text(`wrote ${Object.keys(files).length} files to ${target}. Next:`);
  output.text(`  cd ${shellWord(directory)}\n  npm install\n  npm start`);
  output.event('done', { directory: target, files: Object.keys(files) });
}

/** Returns a path as it is typed in a shell. */
function shellWord(path: string): string {
  if (/^[\w./\\:~@+-]+$/.test(path)) return path;
  // Between double quotes a shell would replace these; other shells than POSIX ones know no single quotes.
  return /["$`!]/.test(path) ? `'${path.replaceAll("'", "'\\''")}'` : `"${path}"`;
}

/** Returns the name of a folder as npm accepts it. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '');
  if (name !== '' && name !== 'skein' && name !== 'node_modules') return name;
  throw new ValueError(
    `new: expected a folder whose name can be that of a package, got ${JSON.stringify(folder)}. Choose another, such as my-graph.`,
  );
}

function checkEmpty(target: string): void {
  if (!existsSync(target)) return;
  const got = statSync(target).isDirectory() ? readdirSync(target)[0] : 'a file';
  if (got === undefined) return;
  throw new StorageError(`new: expected a new or empty folder, got ${target} with ${got}. Choose another.`, {
    path: target,
  });
}
