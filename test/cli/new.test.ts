/** `skein new`: the project type-checks, trains, answers, passes its test, and its commands work. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { root, skein } from '../programs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-new-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const project = join(folder, 'My Graph');
const node = (...args: string[]): string =>
  execFileSync(process.execPath, args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

it('creates a project that runs at once', () => {
  const said = execFileSync(process.execPath, [...skein, 'new', 'My Graph'], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(said).toContain('\n  cd "My Graph"\n');
  const { name, scripts, dependencies, devDependencies } = JSON.parse(
    readFileSync(join(project, 'package.json'), 'utf8'),
  );
  expect(name).toBe('my-graph');
  // In place of npm install: this package, and the packages of its own that the project names.
  mkdirSync(join(project, 'node_modules', '@types'), { recursive: true });
  for (const used of Object.keys({ ...dependencies, ...devDependencies }))
    symlinkSync(
      used === 'skein' ? root : join(root, 'node_modules', used),
      join(project, 'node_modules', used),
    );
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  execFileSync(tsc, ['--skipLibCheck', 'false'], { cwd: project, stdio: 'inherit' });
  expect(scripts.start).toBe('tsc && node dist/main.js');
  const output = node('dist/main.js');
  expect(output).toMatch(/test MRR 0\.\d{3}\nzoe works in web\n/);
  expect(output).toMatch(/like typescript: /);
  expect(scripts.test).toBe('tsc && node --test dist/facts.test.js');
  expect(node('--test', 'dist/facts.test.js')).toMatch(/# pass 2\n# fail 0|pass 2\n.*fail 0/s);
  expect(
    node(...skein, 'query', 'runs/first', '--head', 'zoe', '--relation', 'has skill', '--include-known'),
  ).toMatch(/known/);
}, 120_000);

it('keeps what is in a folder, and wants a name', () => {
  const fail = (directory: string): string => {
    const { status, stderr } = spawnSync(process.execPath, [...skein, 'new', directory], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(status).toBe(2);
    return stderr;
  };
  mkdirSync(join(folder, 'full'));
  writeFileSync(join(folder, 'full', 'notes.txt'), '');
  expect(fail('full')).toMatch(/expected a new or empty folder, got .*full with notes\.txt/);
  expect(fail('..._')).toMatch(/expected a folder whose name can be that of a package, got "\.\.\._"/);
});
