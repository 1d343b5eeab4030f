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

/** `skein`, `npx skein`, or `node dist/cli/main.js` in a clone. */
export function invocation(
  script: string = process.argv[1] ?? '',
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  if (env['npm_command'] === 'exec') return 'npx skein';
  const name = basename(script);
  if (name === 'skein') return 'skein';
  // From sources, with a loader: options of Node.js would have to be repeated.
  const options = process.execArgv.length > 0 ? `${process.execArgv.join(' ')} ` : '';
  return `node ${options}${shortest(script)}`;
}
