/**
 * The package.json of every released package, derived from that of the checkout, which has entries that only a clone
 * needs and no repository address.
 */
import { StepError } from '../steps.mjs';
import { packageName, platforms } from './platforms.mjs';

/**
 * Returns the field `repository` for an address such as `https://github.com/owner/name`. npm publishes with provenance
 * only if it names the repository of the build. Empty without an address, for a private build.
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

/** Returns the manifest of the package itself, with the platform packages of its version as optional dependencies. */
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
    description: `Skein's native kernels for ${platform.name}. Installed by the package skein; not intended for direct use.`,
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
