/** How this program was started, so that the commands it suggests can be typed as they are printed. */
import { basename, relative } from 'node:path';

function shortest(script: string): string {
  try {
    const path = relative(process.cwd(), script);
    return path.length < script.length ? path : script;
  } catch {
    // The working directory is gone.
    return script;
  }
}

/** `skein`, `npx skein`, or `node dist/cli/main.js` in a clone; `script`: what Node.js was told to run. */
export function invocation(script: string = process.argv[1] ?? ''): string {
  // npx and Windows run it from below node_modules, a global installation through a link of its name.
  if (/[/\\]node_modules[/\\]/.test(script)) return 'npx skein';
  if (basename(script) === 'skein') return 'skein';
  // From sources, with a loader: options of Node.js have to be repeated.
  return ['node', ...process.execArgv, shortest(script)].join(' ');
}
