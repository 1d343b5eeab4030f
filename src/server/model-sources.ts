/** The runs of a command line: their names, and one sentence about every other path. */
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { StateError, ValueError } from '../util/errors.js';
import { invocation } from '../util/invocation.js';

export interface RunPath {
  readonly name: string;
  readonly path: string;
}

const namePattern = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** Returns names and paths of runs given as `path` or `name=path`; the default name is that of the directory. */
export function parseRunPaths(command: string, given: readonly string[]): RunPath[] {
  const runs = given.map((text) => parseRunPath(command, text));
  for (const { path } of runs) checkRunPath(command, path);
  const twice = runs.find(({ name }, i) => runs.findIndex((other) => other.name === name) < i);
  if (twice !== undefined)
    throw new ValueError(
      `${command}: expected a different name for each run, got ${twice.name} twice. Name them: "first=${twice.path}".`,
    );
  return runs;
}

function parseRunPath(command: string, text: string): RunPath {
  const [, name, path] = /^([^=/\\]+)=(.+)$/.exec(text) ?? [];
  if (name !== undefined && !existsSync(text)) {
    if (!namePattern.test(name))
      throw new ValueError(
        `${command}: expected a name of letters, digits, ".", "-" and "_" for a run, got ${JSON.stringify(name)}.`,
      );
    return { name, path };
  }
  const full = resolve(text);
  const folder = /^(run|best|last|checkpoint_\d+)$/.test(basename(full))
    ? basename(dirname(full))
    : basename(full);
  const plain = folder
    .replace(/\.(tgz|tar\.gz)$/, '')
    .replace(/[^\w.-]/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64);
  return { name: plain === '' ? 'model' : plain, path: text };
}

/** Throws one sentence for a path that is certainly not a finished run. */
function checkRunPath(command: string, path: string): void {
  const wrong = (what: string, advice: string): StateError =>
    new StateError(
      `${command}: expected the directory of a finished run or a packed model (.tgz), got ${what}. ${advice}`,
    );
  const found = statSync(path, { throwIfNoEntry: false });
  const train = `Train first ("${invocation()} train"), and pass the directory that training prints as "Saved in".`;
  if (found === undefined) throw wrong(`${path}, which does not exist`, train);
  if (found.isFile() && !/\.(tgz|tar\.gz)$/.test(path)) throw wrong(`the file ${path}`, train);
  if (!found.isDirectory()) return;
  const has = (...parts: string[]): boolean => existsSync(join(path, ...parts));
  if (has('full_config.yaml')) {
    if (!has('done.json'))
      throw wrong(
        `${path}, whose training has not finished`,
        `Resume it with training.resume_training: true, or pass one of its checkpoints.`,
      );
    return;
  }
  if (has('run', 'full_config.yaml')) return;
  if (has('model.safetensors')) return;
  if (has('dataset.yaml')) throw wrong(`the prepared dataset ${path}`, train);
  throw wrong(`${path}, which has no full_config.yaml`, train);
}
