/** How this program was started, so that the commands it suggests can be typed as they are printed. */

/** Of the command line: what npm links to, in dist/ and, with a loader, in src/. */
const ownScript = /([/\\]cli[/\\])(?:main|bin[/\\]marius-\w+)(\.[jt]s)$/;

/**
 * `skein` for a global installation, `node dist/cli/main.js` in a clone, else `npx skein`, which is right wherever the
 * package is installed, and in programs that use it.
 *
 * @param script what Node.js was told to run; none in a browser
 */
export function invocation(script: string = here()?.argv[1] ?? ''): string {
  // npx and Windows run it from below node_modules, a global installation through a link of its name.
  if (/[/\\]node_modules[/\\]/.test(script)) return 'npx skein';
  if (/[/\\](skein|marius_\w+)$/.test(script)) return 'skein';
  if (!ownScript.test(script)) return 'npx skein';
  // From sources, with a loader: options of Node.js have to be repeated.
  return ['node', ...(here()?.execArgv ?? []), quoted(shortest(script.replace(ownScript, '$1main$2')))].join(
    ' ',
  );
}

function here(): Pick<NodeJS.Process, 'argv' | 'cwd' | 'execArgv'> | undefined {
  return typeof process === 'undefined' ? undefined : process;
}

function shortest(script: string): string {
  try {
    const folder = here()?.cwd() ?? '';
    return /^[/\\]/.test(script.slice(folder.length)) && script.startsWith(folder)
      ? script.slice(folder.length + 1)
      : script;
  } catch {
    // The working directory is gone.
    return script;
  }
}

const quoted = (path: string): string => (/\s/.test(path) ? JSON.stringify(path) : path);
