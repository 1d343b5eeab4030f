/** The folder of a worker in single-node mode: one job at a time, other files untouched, errors that name the cause. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileLock, LocalLock, PartitionDataManager } from 'skein/dist';
import { nativeStatus } from 'skein/native';
import { fromTypedArray } from 'skein/tensor';
import { StateError, StorageError, ValueError } from 'skein/util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const hasAddon = nativeStatus().backend === 'native';
let root = '';
const managers: PartitionDataManager[] = [];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skein-folder-'));
});
afterEach(() => {
  for (const manager of managers.splice(0)) manager.delete();
  rmSync(root, { recursive: true, force: true });
});

function make(folder = join(root, 'rank_'), rank = 0): PartitionDataManager {
  const manager = new PartitionDataManager(rank, new LocalLock(), { folder, minBytes: 0 });
  managers.push(manager);
  return manager;
}

const one = () => fromTypedArray(Float32Array.of(1));
const lockFile = () => join(root, 'rank_0', 'manager.lock');
/** The start time of a process as reported by the system; '' if unavailable. */
const started = (pid: number): string =>
  existsSync(`/proc/${pid}/stat`)
    ? readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[19]
    : '';

describe('a folder of one job', () => {
  it('is rejected for a second manager until the first is deleted', () => {
    const first = make();
    expect(() => make()).toThrow(StateError);
    expect(() => make()).toThrow(/no other job works in, got .*rank_0 of this process already\. Wait for it/);
    make(join(root, 'rank_'), 1);
    first.delete();
    expect(existsSync(first.folder)).toBe(false);
    const second = make();
    // The first can no longer use it.
    first.delete();
    expect(existsSync(lockFile())).toBe(true);
    expect(() => first.saveTensor('h', one())).toThrow(/got one after delete/);
    expect(() => first.save()).toThrow(/got one after delete/);
    second.delete();
  });

  it('is another process’s while that lives, and is taken over when it is dead', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const pid = child.pid as number;
    mkdirSync(join(root, 'rank_0'));
    writeFileSync(lockFile(), `${pid} ${started(pid)}\n`);
    for (const label of ['tensors', 'partition', 'h'])
      writeFileSync(join(root, 'rank_0', `${label}.safetensors`), 'of the other job');
    expect(() => make()).toThrow(new RegExp(`rank_0 of process ${pid}\\.`));
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    const manager = make();
    expect(readFileSync(lockFile(), 'utf8')).toMatch(new RegExp(`^${process.pid} `));
    // The state of the dead process is not loaded.
    expect(manager.doesFileExist('h')).toBe(false);
    expect(() => manager.loadTensor('h')).toThrow(/There are: none/);
    manager.delete();
    expect(readdirSync(join(root, 'rank_0'))).toEqual(['h.safetensors']);
  });

  it('is ignored if its process id belongs to another process or is invalid', () => {
    const dead = spawnSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }).stdout.trim();
    mkdirSync(join(root, 'rank_0'));
    const stale = process.platform === 'linux' ? [`${process.pid} 1`] : [];
    for (const owner of [`${dead} 1`, 'nonsense', '', ...stale]) {
      mkdirSync(join(root, 'rank_0'), { recursive: true });
      writeFileSync(lockFile(), owner);
      make().delete();
      expect(readdirSync(root)).toEqual([]);
    }
  });

  it.skipIf(!hasAddon)('is left clean when the process ends without delete()', () => {
    const manager = make();
    manager.features = one();
    const path = manager.saveTensor('h', one());
    manager.precallFunc();
    expect(readdirSync(manager.folder).length).toBe(4);
    // The manager's listener is the first; the others are the test runner's.
    const [atExit] = process.listeners('exit');
    (atExit as () => void)();
    expect(readdirSync(manager.folder)).toEqual(['h.safetensors']);
    expect(existsSync(path)).toBe(true);
    process.removeListener('exit', atExit);
    managers.splice(0);
  });
});

describe('files of others', () => {
  it('stay when the manager goes', () => {
    mkdirSync(join(root, 'rank_0', 'sub'), { recursive: true });
    for (const file of ['notes.txt', 'model.safetensors', 'sub/x'])
      writeFileSync(join(root, 'rank_0', file), 'mine');
    const manager = make();
    manager.saveTensor('h', one());
    expect(manager.doesFileExist('model')).toBe(false);
    manager.removeFiles();
    expect(readdirSync(manager.folder).sort()).toEqual([
      'manager.lock',
      'model.safetensors',
      'notes.txt',
      'sub',
    ]);
    manager.saveTensor('h', one());
    manager.delete();
    expect(readdirSync(manager.folder).sort()).toEqual(['model.safetensors', 'notes.txt', 'sub']);
    expect(readFileSync(join(manager.folder, 'sub', 'x'), 'utf8')).toBe('mine');
  });

  it('of the names that the manager uses are not overwritten', () => {
    const file = join(root, 'rank_0', 'tensors.safetensors');
    mkdirSync(join(root, 'rank_0'));
    writeFileSync(file, 'mine');
    expect(() => make()).toThrow(/expected a folder without tensors\.safetensors, got .*rank_0\. Remove/);
    expect(readdirSync(join(root, 'rank_0'))).toEqual(['tensors.safetensors']);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });
});

describe('rejected with an error that names it', () => {
  it('labels of the manager itself and labels that are paths', () => {
    const manager = make();
    for (const label of ['partition', 'tensors', 'Tensors'])
      for (const use of [() => manager.saveTensor(label, one()), () => manager.loadTensor(label)])
        expect(use, label).toThrow(
          new RegExp(`a name other than partition and tensors for label, got "${label}"`),
        );
    for (const label of ['..', '.', '../h', 'a/b', 'a\\b', '/h', '', '.h', 'a\0', null as unknown as string])
      expect(() => manager.saveTensor(label, one()), String(label)).toThrow(ValueError);
    expect(readdirSync(manager.folder)).toEqual(['manager.lock']);
    expect(manager.doesFileExist('tensors')).toBe(false);
    manager.saveTensor('a.b-c_1', one());
    expect(manager.loadTensor('a.b-c_1').shape).toEqual([1]);
  });

  it('folders and files that the system denies', () => {
    writeFileSync(join(root, 'file'), '');
    writeFileSync(join(root, 'rank_0'), '');
    const long = 'x'.repeat(300);
    const cases: [() => unknown, string][] = [
      [() => make(), 'ENOTDIR'],
      [() => make(join(root, 'file', 'rank_')), 'ENOTDIR'],
      [() => make(join(root, long)), 'ENAMETOOLONG'],
      [() => make(join(root, 'ok_')).saveTensor(long, one()), 'ENAMETOOLONG'],
    ];
    if (process.platform === 'linux') cases.push([() => make('/proc/no/such/rank_'), 'ENOENT']);
    for (const [use, code] of cases) {
      expect(use, code).toThrow(StorageError);
      // The manager that was created before its file was rejected.
      for (const manager of managers.splice(0)) manager.delete();
      expect(use, code).toThrow(new RegExp(`write: expected to write .*, got ${code}\\. [A-Z]`));
      for (const manager of managers.splice(0)) manager.delete();
    }
    const manager = make(join(root, 'dir_'));
    mkdirSync(join(manager.folder, 'h.safetensors'));
    expect(() => manager.saveTensor('h', one())).toThrow(/h\.safetensors, got EISDIR\. This is a folder/);
    manager.delete();
    expect(readdirSync(manager.folder)).toEqual(['h.safetensors']);
  });

  it.skipIf(!hasAddon)('state whose folder went away', () => {
    const manager = make();
    manager.features = one();
    rmSync(manager.folder, { recursive: true });
    expect(() => manager.save()).toThrow(/write: expected to write .*partition\.safetensors, got ENOENT/);
    expect(manager.isSpilled).toBe(false);
    // The failed attempt is not recorded as written.
    mkdirSync(manager.folder);
    manager.save();
    rmSync(join(manager.folder, 'partition.safetensors'));
    expect(() => manager.load()).toThrow(/read: expected to read .*partition\.safetensors, got ENOENT/);
    process.removeListener('exit', process.listeners('exit')[0]);
    managers.splice(0);
  });

  it('invalid locks', () => {
    writeFileSync(join(root, 'file'), '');
    expect(() => new FileLock(root).acquire()).toThrow(/write: expected to write .*, got EISDIR\. This is/);
    expect(() => new FileLock(join(root, 'file', 'lock')).acquire()).toThrow(/got ENOTDIR/);
    expect(() => new FileLock(join(root, 'x'.repeat(300))).acquire()).toThrow(/got ENAMETOOLONG/);
    for (const path of ['', 'a\0', undefined as unknown as string])
      expect(() => new FileLock(path)).toThrow(/expected the name of a file for path/);
    if (process.platform === 'linux')
      expect(() => new FileLock('/proc/no/such/lock').acquire()).toThrow(/got ENOENT\. Check/);
  });
});
