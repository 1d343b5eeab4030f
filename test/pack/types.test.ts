/** The types of every entry, compiled in strict projects with various settings; declarations are checked too. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { install, modules, type Packed, pack, root, run } from './packed.js';
import { readmeExample } from './pages.js';

let packed: Packed;
let project: string;

beforeAll(() => {
  packed = pack();
  project = install(packed, 'types', { args: ['--ignore-scripts', '@types/node@20'] });
});

afterAll(() => rmSync(packed.folder, { recursive: true, force: true }));

const bare = ['es2022'];
/** Compiler settings for a file of each entry and the README's example. */
interface Settings {
  readonly target: string;
  readonly module: string;
  readonly moduleResolution?: string;
  readonly lib?: readonly string[];
  readonly types?: readonly string[];
}

/** Compiles every import and the README's example in `folder`, declarations of packages included. */
function compile(folder: string, settings: Settings, shim = ''): void {
  mkdirSync(folder, { recursive: true });
  const lines = modules.map(
    (module, i) => `import * as m${i} from '${module}';\nexport const k${i}: object = m${i};\n`,
  );
  writeFileSync(join(folder, 'imports.ts'), lines.join(''));
  writeFileSync(join(folder, 'readme.ts'), shim + readmeExample());
  const compilerOptions = { strict: true, ...settings, skipLibCheck: false, noEmit: true };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const done = run(folder, process.execPath, [tsc, '-p', '.', '--pretty', 'false']);
  expect(done.out).toBe('');
  expect(done.code).toBe(0);
}

test('a fresh project, with no other package and no setting but strict, target and module', () => {
  const fresh = install(packed, 'fresh', { args: ['--ignore-scripts'] });
  expect(existsSync(join(fresh, 'node_modules/@types'))).toBe(false);
  compile(fresh, { target: 'es2022', module: 'nodenext' });
});

const cases = ['bundler', 'node16', 'nodenext'].flatMap((resolution) => [
  { resolution, what: 'DOM', lib: [...bare, 'dom', 'dom.iterable'], types: [] },
  { resolution, what: 'Node.js', lib: bare, types: ['node'] },
  { resolution, what: 'neither DOM nor Node.js', lib: bare, types: [] },
]);

test.each(cases)('$resolution with types of $what', ({ resolution, what, lib, types }) => {
  const shim =
    lib.includes('dom') || types.length > 0 ? '' : 'declare const console: { log(...x: unknown[]): void };\n';
  const module = resolution === 'bundler' ? 'esnext' : resolution;
  const settings = { target: 'es2022', module, moduleResolution: resolution, lib, types };
  compile(join(project, `${resolution} ${what}`), settings, shim);
});
