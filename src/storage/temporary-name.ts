/**
 * Names of incomplete files, next to their final path. A name includes the machine and the process that writes: the
 * next process that writes to the same path removes files of killed ones.
 *
 * Node.js's modules are looked up on use, not imported: see atomic-file.ts.
 */

const node = {
  get fs(): typeof import('node:fs/promises') {
    return process.getBuiltinModule('node:fs/promises');
  },
  get path(): typeof import('node:path') {
    return process.getBuiltinModule('node:path');
  },
};

let machineDigits: string | null = null;

/** Returns six digits of this machine, since other machines on a shared disk use the same process ids. */
function machine(): string {
  if (machineDigits === null) {
    const { createHash } = process.getBuiltinModule('node:crypto');
    const name = process.getBuiltinModule('node:os').hostname();
    machineDigits = createHash('sha256').update(name).digest('hex').slice(0, 6);
  }
  return machineDigits;
}

/** Returns an unused, hidden name next to `path`. */
export function temporaryName(path: string): string {
  const target = node.path.resolve(path);
  const own = `${process.pid}-${machine()}${crypto.randomUUID().slice(0, 8)}`;
  return node.path.join(node.path.dirname(target), `.${node.path.basename(target)}.${own}.tmp`);
}

const ending = /\.(\d+)-([0-9a-f]{6})[0-9a-f]{8}\.tmp$/;

/** Whether the name of a folder's entry is one of `temporaryName`, of any process. */
export function isTemporaryName(name: string): boolean {
  return name.startsWith('.') && ending.test(name);
}

/** Removes temporary files of `path` that ended processes of this machine have left. */
export async function removeAbandoned(path: string): Promise<void> {
  const target = node.path.resolve(path);
  const folder = node.path.dirname(target);
  const names = await node.fs.readdir(folder).catch(() => []);
  for (const name of names) {
    const [end, pid, owner] = ending.exec(name) ?? [''];
    if (end === '' || name.slice(0, -end.length) !== `.${node.path.basename(target)}`) continue;
    if (owner !== machine() || isAlive(Number(pid))) continue;
    await node.fs.rm(node.path.join(folder, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
