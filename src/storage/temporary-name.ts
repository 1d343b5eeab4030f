/**
 * Names for what is not complete yet, beside the place that it is for. A name carries the machine and the process that
 * writes: when a process was killed, the next one that writes to the same place removes what it left.
 *
 * Node.js's modules are looked up when a name is made, not imported: see atomic-file.ts.
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

/** Six digits for this machine: others on a shared disk have processes of the same numbers. */
function machine(): string {
  if (machineDigits === null) {
    const { createHash } = process.getBuiltinModule('node:crypto');
    const name = process.getBuiltinModule('node:os').hostname();
    machineDigits = createHash('sha256').update(name).digest('hex').slice(0, 6);
  }
  return machineDigits;
}

/** An unused name beside `path`, hidden from a plain listing. */
export function temporaryName(path: string): string {
  const target = node.path.resolve(path);
  const own = `${process.pid}-${machine()}${crypto.randomUUID().slice(0, 8)}`;
  return node.path.join(node.path.dirname(target), `.${node.path.basename(target)}.${own}.tmp`);
}

const ending = /\.(\d+)-([0-9a-f]{6})[0-9a-f]{8}\.tmp$/;

/** Whether an entry of a folder is one that `temporaryName` names, of whatever process. */
export function isTemporaryName(name: string): boolean {
  return name.startsWith('.') && ending.test(name);
}

/** Removes what processes of this machine that are gone have left beside `path`. */
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
