/**
 * Bundles program text of this checkout for a browser, as a user's bundler would, but from the sources: `skein/<part>`
 * is src/<part>. Optional peers that a page loads itself are external; a `node:` module is an error of the bundle.
 */
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface Bundle {
  readonly code: string;
  /** Bundled files of the checkout, as paths from its root. */
  readonly inputs: readonly string[];
  /** External modules, which are loaded at run time. */
  readonly external: readonly string[];
}

/** Bundles `source`, the text of a module at the root of the checkout. */
export async function bundleForBrowser(source: string): Promise<Bundle> {
  const result = await build({
    stdin: { contents: source, resolveDir: root, sourcefile: 'entry.ts', loader: 'ts' },
    absWorkingDir: root,
    alias: { skein: `${root}/src`, '#internal': `${root}/src` },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    // package.json's list of side effects names files of dist/, not of src/.
    ignoreAnnotations: true,
    sourcemap: 'inline',
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
  return { code: result.outputFiles[0].text, ...modulesOf(result.metafile) };
}

function modulesOf(metafile: Metafile): Pick<Bundle, 'inputs' | 'external'> {
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  const external = imports.filter((module) => module.external).map((module) => module.path);
  return { inputs: Object.keys(metafile.inputs), external: [...new Set(external)] };
}
