/** Files of tensors, models and checkpoints: errors that name the file, atomic replacement, exact resume. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Adam, MLP } from 'skein/nn';
import {
  loadCheckpoint,
  loadModel,
  loadTensors,
  saveCheckpoint,
  saveModel,
  saveTensors,
} from 'skein/storage';
import { fromArray, manualSeed, randn, randomState, scope, setRandomState, type Tensor } from 'skein/tensor';
import { FormatError, type RandomState, StorageError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-files-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);
const model = (): MLP => new MLP([3, 8, 2], { norm: 'batch', dropout: 0.2 });

/** Steps on data from the shared generator, so that its state matters too. */
function train(net: MLP, optimizer: Adam, steps: number): void {
  for (let t = 0; t < steps; t++) {
    optimizer.zeroGrad();
    scope(() =>
      net
        .forward(randn([6, 3]))
        .square()
        .sum()
        .backward(),
    );
    optimizer.step();
  }
}

const values = (net: MLP): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(net.stateDict()).map(([name, t]: [string, Tensor]) => [name, t.toArray()]),
  );

describe('wrong input', () => {
  test('a missing file or folder is named, with what to do', async () => {
    const missing = loadTensors(at('none.safetensors'));
    await expect(missing).rejects.toThrow(StorageError);
    await expect(missing).rejects.toThrow(
      `expected to read ${at('none.safetensors')}, got ENOENT. Check the spelling`,
    );
    await expect(missing).rejects.toMatchObject({
      code: 'SKEIN_STORAGE',
      details: { path: at('none.safetensors'), code: 'ENOENT' },
    });
    await expect(saveTensors(at('no/such/x.safetensors'), {})).rejects.toThrow('create the folder');
    await expect(loadTensors(folder)).rejects.toThrow('This is a folder; give the path of a file.');
    await expect(saveTensors('', {})).rejects.toThrow('storage: expected a file name for path, got "".');
  });

  test('a corrupt file is named with its byte offset', async () => {
    await saveTensors(at('bad.safetensors'), { a: fromArray([1, 2, 3]) });
    const bytes = await readFile(at('bad.safetensors'));
    await writeFile(at('bad.safetensors'), bytes.subarray(0, -2));
    const load = loadTensors(at('bad.safetensors'));
    await expect(load).rejects.toThrow(FormatError);
    await expect(load).rejects.toThrow(
      `${at('bad.safetensors')}: safetensors: at byte ${bytes.length - 2}: expected 12 bytes of data`,
    );
    await expect(load).rejects.toMatchObject({
      details: { path: at('bad.safetensors'), byteOffset: bytes.length - 2 },
    });
  });

  test('a model or checkpoint that does not fit', async () => {
    await saveModel(at('model.safetensors'), model());
    await expect(loadModel(at('model.safetensors'), new MLP([3, 8, 2]))).rejects.toThrow(
      'Unexpected: norms.0.',
    );
    const optimizer = new Adam(model().parameters());
    await expect(loadCheckpoint(at('model.safetensors'), { model: model() })).rejects.toThrow(
      'got a file of tensors. Use loadModel',
    );
    await saveCheckpoint(at('alone.safetensors'), { model: model() });
    await expect(loadCheckpoint(at('alone.safetensors'), { model: model(), optimizer })).rejects.toThrow(
      'expected a checkpoint with an optimizer',
    );
    await saveTensors(at('newer.safetensors'), {}, { 'skein.checkpoint': '{"version":2}' });
    await expect(loadCheckpoint(at('newer.safetensors'), { model: model() })).rejects.toThrow(
      'expected version 1 for skein.checkpoint, got 2.',
    );
    await saveTensors(at('torn.safetensors'), {}, { 'skein.checkpoint': '{"vers' });
    await expect(loadCheckpoint(at('torn.safetensors'), { model: model() })).rejects.toThrow(
      'expected JSON for skein.checkpoint',
    );
  });

  test.skipIf(process.getuid?.() === 0)('a failed save leaves the old file and nothing else', async () => {
    await mkdir(at('locked'));
    await saveTensors(at('locked/a.safetensors'), { a: fromArray([1]) });
    await chmod(at('locked'), 0o555);
    await expect(saveTensors(at('locked/a.safetensors'), { a: fromArray([2]) })).rejects.toThrow(
      'Change its permissions',
    );
    await chmod(at('locked'), 0o755);
    expect(await readdir(at('locked'))).toEqual(['a.safetensors']);
    expect((await loadTensors(at('locked/a.safetensors'))).tensors.a.toArray()).toEqual([1]);
  });
});

describe('files', () => {
  test('tensors and metadata; no temporary file stays', async () => {
    await mkdir(at('plain'));
    await saveTensors(at('plain/t.safetensors'), { a: fromArray([[1, 2]]) }, { note: 'x' });
    await saveTensors(at('plain/t.safetensors'), { a: fromArray([[3, 4]]) }, { note: 'y' });
    const { tensors, metadata } = await loadTensors(at('plain/t.safetensors'));
    expect(tensors.a.toArray()).toEqual([[3, 4]]);
    expect(metadata).toEqual({ note: 'y' });
    expect(await readdir(at('plain'))).toEqual(['t.safetensors']);
  });

  test('replacing a folder fails and cleans up', async () => {
    await mkdir(at('taken/inner'), { recursive: true });
    await expect(saveTensors(at('taken/inner'), {})).rejects.toThrow(StorageError);
    expect(await readdir(at('taken'))).toEqual(['inner']);
  });

  test('a model, with the values of the moment of saving', async () => {
    const source = model();
    const before = values(source);
    const saving = saveModel(at('snapshot.safetensors'), source, { epoch: '3' });
    train(source, new Adam(source.parameters()), 1);
    await saving;
    const target = model();
    const result = await loadModel(at('snapshot.safetensors'), target);
    expect(result).toEqual({ missing: [], unexpected: [], metadata: { epoch: '3' } });
    expect(values(target)).toEqual(before);
  });

  test('saves of one path at the same time leave one whole file', async () => {
    const all = Array.from({ length: 8 }, (_, i) =>
      saveTensors(at('race.safetensors'), { a: fromArray([i, i, i]) }),
    );
    await Promise.all(all);
    const [first, ...rest] = (await loadTensors(at('race.safetensors'))).tensors.a.toArray() as number[];
    expect(rest).toEqual([first, first]);
  });

  test('a checkpoint resumes with the same bits', async () => {
    manualSeed(11);
    const net = model();
    const optimizer = new Adam(net.parameters(), { lr: 0.01 });
    train(net, optimizer, 5);
    await saveCheckpoint(
      at('run.safetensors'),
      { model: net, optimizer },
      { epoch: 5, random: randomState() },
    );
    train(net, optimizer, 5);

    const other = model();
    const otherOptimizer = new Adam(other.parameters());
    const extra = (await loadCheckpoint(at('run.safetensors'), {
      model: other,
      optimizer: otherOptimizer,
    })) as { epoch: number; random: RandomState };
    expect(extra.epoch).toBe(5);
    expect(otherOptimizer.lr).toBe(0.01);
    setRandomState(extra.random);
    train(other, otherOptimizer, 5);
    expect(values(other)).toEqual(values(net));
  });
});
