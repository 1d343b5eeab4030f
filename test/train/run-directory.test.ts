/** Run directories: names, files, what they refuse, what survives a kill. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, resolveConfig, type SkeinConfig } from 'skein/train';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RunDirectory } from '#internal/train/run/run-directory.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skein-run-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function config(...overrides: string[]): SkeinConfig {
  const model = {
    learning_task: 'LP',
    random_seed: 7,
    encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 8 }]] },
  };
  return resolveConfig({ model, storage: { dataset: { dataset_dir: root } } }, overrides).config;
}

const named = (name = 'run'): SkeinConfig => config(`storage.model_dir=${join(root, name)}`);

describe('a new run', () => {
  it('gets the first free model_<i>', async () => {
    mkdirSync(join(root, 'model_0'));
    const runs = await Promise.all([
      RunDirectory.open({ config: config() }),
      RunDirectory.open({ config: config() }),
    ]);
    expect(runs.map((run) => run.path).sort()).toEqual([join(root, 'model_1'), join(root, 'model_2')]);
    for (const run of runs) run.close();
  });

  it('keeps the configuration as given and as resolved', async () => {
    const given = named();
    const run = await RunDirectory.open({ config: given, source: '# mine\n' });
    run.close();
    expect(readFileSync(run.file('config.yaml'), 'utf8')).toBe('# mine\n');
    const again = loadConfig(run.file('full_config.yaml'));
    expect(again.config).toEqual(given);
    expect(again.warnings).toEqual([]);
  });

  it('logs by level and records metrics', async () => {
    const run = await RunDirectory.open({
      config: config(`storage.model_dir=${join(root, 'run')}`, 'storage.log_level=warn'),
    });
    run.log('info', 'not this');
    run.log('warn', 'two\nlines');
    run.record({ epoch: 1, loss: Number.NaN, stages: { load: 0.5 } });
    run.close();
    run.close();
    expect(readFileSync(run.file('log.txt'), 'utf8')).toMatch(/^\d{4}-\S+Z warn {2}two\n {4}lines\n$/);
    expect(run.readMetrics()).toMatchObject([{ epoch: 1, loss: null, stages: { load: 0.5 } }]);
  });

  it('begins where a process was killed before it had written anything', async () => {
    const path = join(root, 'run');
    mkdirSync(path);
    const dead = String(spawnSync(process.execPath, ['-e', '']).pid);
    const machine = createHash('sha256').update(hostname()).digest('hex').slice(0, 6);
    const left = `.full_config.yaml.${dead}-${machine}01234567.tmp`;
    writeFileSync(join(path, left), 'model');
    using run = await RunDirectory.open({ config: named() });
    expect(run.resumed).toBe(false);
    expect(readdirSync(path)).not.toContain(left);
    run.close();
    mkdirSync(join(path, 'checkpoint_1'));
    writeFileSync(join(path, 'checkpoint_1', left), 'half a checkpoint');
    using again = await RunDirectory.open({ config: named(), resume: true });
    expect(again.resumed).toBe(true);
    expect(readdirSync(join(path, 'checkpoint_1'))).toEqual([]);
  });

  it('never leaves its directory', async () => {
    using run = await RunDirectory.open({ config: named() });
    expect(run.file('checkpoint_1', 'a')).toBe(join(root, 'run', 'checkpoint_1', 'a'));
    for (const path of ['..', '../x', 'a/../../x', join(root, 'other')])
      expect(() => run.file(path)).toThrow(/inside/);
    expect(run.file('..x')).toBe(join(root, 'run', '..x'));
  });
});

describe('refuses', () => {
  it('a finished run, unless it resumes', async () => {
    const run = await RunDirectory.open({ config: named() });
    run.record({ epoch: 1 });
    await run.finish({ mrr: 0.5 });
    run.close();
    expect(RunDirectory.isFinished(run.path)).toBe(true);
    await expect(RunDirectory.open({ config: named() })).rejects.toThrow(
      /has a finished run.*resume_training: true/,
    );
    using again = await RunDirectory.open({ config: named(), resume: true });
    expect(again.resumed).toBe(true);
    expect(again.readMetrics()).toHaveLength(1);
  });

  it('a started run with something to lose; one without starts again', async () => {
    const first = await RunDirectory.open({ config: named() });
    first.record({ epoch: 1 });
    first.close();
    const second = await RunDirectory.open({ config: named() });
    expect(second.readMetrics()).toEqual([]);
    mkdirSync(second.file('checkpoint_1'));
    second.close();
    await expect(RunDirectory.open({ config: named() })).rejects.toThrow(/has a started run/);
  });

  it('a directory with other files, and leaves it as it is', async () => {
    mkdirSync(join(root, 'home'));
    writeFileSync(join(root, 'home', 'thesis.tex'), '');
    await expect(RunDirectory.open({ config: named('home') })).rejects.toThrow(
      /empty directory.*thesis\.tex/,
    );
    expect(readdirSync(join(root, 'home'))).toEqual(['thesis.tex']);
  });

  it('to resume a missing run', async () => {
    await expect(RunDirectory.open({ config: named(), resume: true })).rejects.toThrow(
      /which does not exist/,
    );
    await expect(RunDirectory.open({ config: config(), resume: true })).rejects.toThrow(
      /storage\.model_dir, got nothing/,
    );
    mkdirSync(join(root, 'run'));
    await expect(RunDirectory.open({ config: named(), resume: true })).rejects.toThrow(
      /a run to resume in .*, got none: it has no full_config\.yaml/,
    );
    expect(existsSync(join(root, 'run', 'full_config.yaml'))).toBe(false);
  });

  it('two processes at once, but not after one is dead', async () => {
    const run = await RunDirectory.open({ config: named() });
    await expect(RunDirectory.open({ config: named(), resume: true })).rejects.toThrow(/no process works in/);
    run.close();
    // A process that is gone, and this process number with another start time.
    const dead = spawnSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }).stdout.trim();
    for (const owner of [`${dead} 1`, `${process.pid} 1`, 'nonsense', '']) {
      writeFileSync(join(root, 'run', 'run.lock'), owner);
      (await RunDirectory.open({ config: named(), resume: true })).close();
    }
    expect(existsSync(join(root, 'run', 'run.lock'))).toBe(false);
  });
});

describe('a resumed run', () => {
  it('keeps its configuration until the new one is written', async () => {
    (await RunDirectory.open({ config: named(), source: '# first\n' })).close();
    const files = (): string[] =>
      ['config.yaml', 'full_config.yaml'].map((name) => readFileSync(join(root, 'run', name), 'utf8'));
    const before = files();
    const changed = config(`storage.model_dir=${join(root, 'run')}`, 'training.num_epochs=77');
    using again = await RunDirectory.open({ config: changed, source: '# second\n', resume: true });
    expect(files()).toEqual(before);
    await again.writeConfig();
    expect(files()[0]).toBe('# second\n');
    expect(loadConfig(again.file('full_config.yaml')).config.training.num_epochs).toBe(77);
  });

  it('names metrics.jsonl and the line when it is damaged', async () => {
    const run = await RunDirectory.open({ config: named() });
    run.record({ epoch: 1 });
    run.close();
    appendFileSync(run.file('metrics.jsonl'), '{"epoch":2;}\n');
    using again = await RunDirectory.open({ config: named(), resume: true });
    await expect(again.keepMetrics(() => true)).rejects.toThrow(
      /metrics\.jsonl: expected a JSON object in line 2, got .*remove the line/,
    );
  });

  it('drops a torn line and the records after its checkpoint', async () => {
    const run = await RunDirectory.open({ config: named() });
    for (const epoch of [1, 2, 3]) run.record({ epoch });
    run.close();
    appendFileSync(run.file('metrics.jsonl'), '{"epoch":4,"lo');
    using again = await RunDirectory.open({ config: named(), resume: true });
    expect(again.readMetrics().map(({ epoch }) => epoch)).toEqual([1, 2, 3]);
    await again.keepMetrics(({ epoch }) => (epoch as number) <= 2);
    again.record({ epoch: 3 });
    expect(again.readMetrics().map(({ epoch }) => epoch)).toEqual([1, 2, 3]);
  });
});
