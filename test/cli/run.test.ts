/** `skein run` as a process: which output is shown, exit codes, signals, and running inside a launcher. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { root, skein } from '../programs.js';

const hasMpi = spawnSync('mpirun', ['--version'], { stdio: 'ignore' }).status === 0;
const main = [...skein, 'run'];
const rankOf = 'const rank = process.env.OMPI_COMM_WORLD_RANK ?? process.env.PMI_RANK;';

function skeinRun(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const done = spawnSync(process.execPath, [...main, ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    timeout: 240_000,
  });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

const script = (text: string) => ['--', process.execPath, '-e', `${rankOf} ${text}`];

describe.skipIf(!hasMpi)(`skein run${hasMpi ? '' : ' (skipped: mpirun is missing)'}`, () => {
  it('shows the output of rank 0 as it is, and of all on request', () => {
    const both = script('console.log("rank", rank); console.error("error of", rank)');
    expect(skeinRun(['-n', '2', ...both])).toEqual({ code: 0, out: 'rank 0\n', err: 'error of 0\n' });
    const { out } = skeinRun(['-n', '2', '--all-output', ...both]);
    expect(out.split('\n').filter((text) => /rank [01]$/.test(text)).length).toBe(2);
  }, 240_000);

  it('gives the exit code, and the errors of hidden ranks', () => {
    expect(skeinRun(['-n', '2', ...script('process.exit(3)')]).code).toBe(3);
    const { code, err } = skeinRun([
      '-n',
      '2',
      ...script('if (rank === "1") throw new Error("the disk is full")'),
    ]);
    expect(code).not.toBe(0);
    expect(err).toMatch(/rank 1:[\s\S]*the disk is full/);
  }, 240_000);

  it('runs Skein commands by name, with their options', () => {
    const { code, out } = skeinRun(['-n', '2', 'info', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ event: 'done' });
  }, 240_000);

  it('prints the error of a command that all ranks run once', () => {
    const { code, err } = skeinRun(['-n', '2', 'query', '/nowhere/run', '--neighbors', 'a']);
    expect(code).not.toBe(0);
    expect(err.match(/expected the directory of a run/g)).toHaveLength(1);
  }, 240_000);

  it('passes signals on', async () => {
    const child = spawn(
      process.execPath,
      [...main, '-n', '2', ...script('console.log("ready"); setTimeout(() => {}, 60_000)')],
      { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] },
    );
    child.stdout.once('data', () => child.kill('SIGTERM'));
    const code = await new Promise((resolve) => child.on('exit', resolve));
    expect(code).not.toBe(0);
  }, 240_000);

  it('leaves no rank and no file behind when it is killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skein-killed-'));
    const work = `require('node:fs').writeFileSync(${JSON.stringify(`${folder}/`)} + process.pid, '');`;
    const forever = script(`${work} setTimeout(() => {}, 120_000)`);
    const child = spawn(process.execPath, [...main, '-n', '2', ...forever], {
      cwd: root,
      stdio: 'ignore',
      env: { ...process.env, TMPDIR: folder },
    });
    const ranks = (): number[] =>
      readdirSync(folder)
        .filter((name) => /^\d+$/.test(name))
        .map(Number);
    while (ranks().length < 2 && child.exitCode === null) await pause(50);
    expect(ranks().length).toBe(2);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const left = (): unknown[] => [
      ...ranks().filter(isAlive),
      ...readdirSync(folder).filter((name) => name.startsWith('skein-run-')),
    ];
    for (let turn = 0; turn < 300 && left().length > 0; turn++) await pause(100);
    expect(left()).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  }, 240_000);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

it('is one rank when a launcher has already started it', () => {
  const slurm = { SLURM_PROCID: '1', SLURM_STEP_NUM_TASKS: '4' };
  const { code, out } = skeinRun(['info', '--json'], slurm);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ event: 'done' });
  const echo = ['--', process.execPath, '-e', 'console.log(process.env.SLURM_PROCID); process.exit(4)'];
  expect(skeinRun(echo, slurm)).toEqual({ code: 4, out: '1\n', err: '' });
  expect(skeinRun(['-n', '2', 'info'], slurm)).toMatchObject({ code: 2 });
}, 240_000);

it('says what to install when there is no launcher', () => {
  const { code, err } = skeinRun(['--launcher', 'no-such-launcher', 'info']);
  expect(code).toBe(2);
  expect(err).toMatch(/expected no-such-launcher on the path.*apt-get install openmpi-bin/s);
}, 240_000);

it('rejects a command line without a command', () => {
  expect(skeinRun(['-n', '2']).code).toBe(2);
  expect(skeinRun(['-n', '0', 'info']).code).toBe(2);
  expect(skeinRun(['run', 'info']).code).toBe(2);
}, 240_000);
