/**
 * `npm run pack:all`: writes the tarballs that a release publishes: the package `skein` and one `@skein/<platform>`
 * with prebuilt addons for every platform that can be built here.
 *
 *   --platform=NAME   only this one (may be repeated); `main` is the package itself
 *   --out=DIR         output folder of the tarballs (default: pack)
 *   --repository=URL  the address of the repository for every package.json, which publishing with provenance needs
 *   --here            compile with this machine's compiler, for this machine's platform only; used by the release workflow
 *                     in its containers
 */
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { buildJs } from './build-js.mjs';
import { buildInDebian11, ensureDebian11 } from './pack/debian11.mjs';
import { inspectFolder } from './pack/inspect.mjs';
import { mainManifest, platformManifest, repositoryField } from './pack/manifests.mjs';
import { makeWords, ownPlatform, packageName, platforms } from './pack/platforms.mjs';
import { main, root, run, StepError, since, tail } from './steps.mjs';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const staging = join(root, '.cache', 'pack');

function options(words) {
  const values = (name) =>
    words.filter((word) => word.startsWith(`--${name}=`)).map((word) => word.slice(name.length + 3));
  const known = /^--(platform=.+|out=.+|repository=.*|here)$/;
  const unknown = words.find((word) => !known.test(word));
  const wanted = values('platform');
  const names = ['main', ...platforms.map((platform) => platform.name)];
  const wrong = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined || wrong !== undefined) {
    throw new StepError(
      `expected --platform=${names.join('|')}, --out=DIR, --repository=URL or --here, got ${unknown ?? `--platform=${wrong}`}.`,
      2,
    );
  }
  const [repository] = values('repository');
  repositoryField(repository);
  const out = resolve(values('out')[0] ?? join(root, 'pack'));
  return { wanted, out, repository, here: words.includes('--here') };
}

/** Runs `npm pack` in a folder and returns the tarball's path. */
function pack(folder, out) {
  const npm = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', out], { cwd: folder });
  if (npm.code !== 0) throw new StepError(`npm pack failed in ${folder}:\n${tail(npm.output)}`);
  const [{ filename }] = JSON.parse(npm.stdout);
  return join(out, filename.replace('@', '').replace('/', '-'));
}

function fresh(name) {
  const folder = join(staging, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);

/** Packs the package itself, with the manifest of a release. */
function packMain({ out, repository }) {
  buildJs();
  const folder = fresh('main');
  const plain = pack(root, folder);
  const tar = run('tar', ['-xzf', plain, '-C', folder]);
  if (tar.code !== 0) throw new StepError(`tar failed:\n${tail(tar.output)}`);
  writeJson(join(folder, 'package', 'package.json'), mainManifest(manifest, repository));
  return pack(join(folder, 'package'), out);
}

function buildHere(platform, folder) {
  const own = ownPlatform();
  if (own !== platform) {
    throw new StepError(
      `--here builds for ${own?.name ?? 'no platform of the list'} only, not for ${platform.name}.`,
      2,
    );
  }
  const build = join(staging, 'build', platform.name);
  const compiler = process.env.CXX ?? (process.platform === 'darwin' ? 'clang++' : 'g++');
  const words = makeWords(platform, relative(join(root, 'native'), build), compiler);
  const make = run('make', ['-C', 'native', `-j${availableParallelism()}`, ...words]);
  if (make.code !== 0) throw new StepError(`make failed:\n${tail(make.output)}`);
  for (const name of ['cpu', ...platform.levels.map((level) => `skein-${level}`)]) {
    cpSync(join(build, `${name}.node`), join(folder, `${name}.node`));
  }
}

function packPlatform(platform, { out, repository, here }) {
  const folder = fresh(platform.name);
  if (here) buildHere(platform, folder);
  else buildInDebian11(platform, folder);
  inspectFolder(platform, folder);
  writeJson(join(folder, 'package.json'), platformManifest(platform, manifest, repository));
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(
    join(folder, 'README.md'),
    `# ${packageName(platform)}\n\nPrebuilt native kernels of Skein for ${platform.name}: ` +
      `one file for each instruction-set level (${platform.levels.join(', ')}). The package \`skein\` installs it automatically.\n`,
  );
  return pack(folder, out);
}

await main('pack', () => {
  const choice = options(process.argv.slice(2));
  mkdirSync(choice.out, { recursive: true });
  const own = choice.here ? ownPlatform() : null;
  const buildable = choice.here
    ? platforms.filter((platform) => platform === own)
    : platforms.filter((platform) => platform.cross !== null);
  const isWanted = (name) => choice.wanted.length === 0 || choice.wanted.includes(name);
  const impossible = platforms.filter(
    (platform) => choice.wanted.includes(platform.name) && !buildable.includes(platform),
  );
  if (impossible.length > 0) {
    throw new StepError(
      `${impossible.map((platform) => platform.name).join(', ')} cannot be built here: it needs a machine or container of ` +
        'that platform, and --here. .github/workflows/release.yml builds all.',
      2,
    );
  }
  const jobs = buildable.filter((platform) => isWanted(platform.name));
  if (jobs.length > 0 && !choice.here) ensureDebian11();
  const written = [];
  const report = (name, work) => {
    const start = performance.now();
    const path = work();
    const size = (statSync(path).size / 1e6).toFixed(2);
    written.push(name);
    console.log(`pack: ${name}: ${relative(process.cwd(), path)}, ${size} MB (${since(start)})`);
  };
  for (const platform of jobs) report(packageName(platform), () => packPlatform(platform, choice));
  if (isWanted('main')) report('skein', () => packMain(choice));
  const left = platforms.filter((platform) => choice.wanted.length === 0 && !buildable.includes(platform));
  if (left.length > 0) {
    console.log(
      `pack: not built here: ${left.map(packageName).join(', ')}; .github/workflows/release.yml builds them`,
    );
  }
});
