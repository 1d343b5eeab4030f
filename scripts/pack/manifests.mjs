/**
 * The package.json of every package that is released: made of the clone's own, which has what only a clone needs and does not
 * know where its repository is.
 */
import { StepError } from '../steps.mjs';
import { packageName, platforms } from './platforms.mjs';

/**
 * The field `repository` for the address of a repository, such as `https://github.com/owner/name`. npm publishes with
 * provenance only what names the repository that the build ran in. Empty without an address: a package for one's own use.
 */
export function repositoryField(address) {
  if (address === undefined) return {};
  if (!/^https:\/\/[^/\s]+\/\S*[^/\s]$/.test(address)) {
    throw new StepError(
      `expected an address such as https://github.com/owner/name for --repository, got ${JSON.stringify(address)}.`,
      2,
    );
  }
  return { repository: { type: 'git', url: `git+${address.replace(/\.git$/, '')}.git` } };
}

/** The package itself, with the platform packages of its own version as optional dependencies. */
export function mainManifest(manifest, address) {
  const { devDependencies: _, scripts: __, allowScripts: ___, ...shipped } = manifest;
  const optionalDependencies = Object.fromEntries(
    platforms.map((platform) => [packageName(platform), manifest.version]),
  );
  return { ...shipped, ...repositoryField(address), optionalDependencies };
}

export function platformManifest(platform, manifest, address) {
  return {
    name: packageName(platform),
    version: manifest.version,
    description: `Skein's native kernels for ${platform.name}. Installed by the package skein; not meant to be used alone.`,
    license: manifest.license,
    ...repositoryField(address),
    engines: manifest.engines,
    os: [platform.os],
    cpu: [platform.cpu],
    ...(platform.libc === undefined ? {} : { libc: [platform.libc] }),
    files: ['*.node'],
    // Yarn's Plug'n'Play keeps packages in archives, from which the system cannot load an addon.
    preferUnplugged: true,
  };
}
