/** Finds how this program was started, so that commands in messages can be typed as they are printed. */

/** The scripts of the command line, to which npm links: in dist/ or, with a loader, in src/. */
const ownScript = /([/\\]cli[/\\])(?:main|bin[/\\]marius-\w+)(\.[jt]s)$/;

/**
 * Returns `skein` for a global installation, `node dist/cli/main.js` in a clone, and else `npx skein`, which works
 * wherever the package is installed, also in programs that use it.
 *
 * @param script the script that Node.js runs; empty in a browser
 */
export function invocation(script: string = currentProcess()?.argv[1] ?? ''): string {
  // npx and Windows run the script below node_modules, a global installation a link called skein.
  if (/[/\\]node_modules[/\\]/.test(script)) return 'npx skein';
  if (/[/\\](skein|marius_\w+)$/.test(script)) return 'skein';
  if (!ownScript.test(script)) return 'npx skein';
  // Sources need a loader, so the options of Node.js are repeated.
  return [
    'node',
    ...(currentProcess()?.execArgv ?? []),
    quote(shortenPath(script.replace(ownScript, '$1main$2'))),
  ].join(' ');
}

function currentProcess(): Pick<NodeJS.Process, 'argv' | 'cwd' | 'execArgv'> | undefined {
  return typeof process === 'undefined' ? undefined : process;
}

function shortenPath(script: string): string {
  try {
    const folder = currentProcess()?.cwd() ?? '';
    return /^[/\\]/.test(script.slice(folder.length)) && script.startsWith(folder)
      ? script.slice(folder.length + 1)
      : script;
  } catch {
    // The working directory was removed.
    return script;
  }
}

const quote = (path: string): string => (/\s/.test(path) ? JSON.stringify(path) : path);
