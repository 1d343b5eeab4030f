/** Opens an address in the browser of the desktop, where there is one. */
import { spawn } from 'node:child_process';

/** Returns the command that opens an address; null on systems without one, and where there is no display. */
export function browserCommand(
  address: string,
  platform: NodeJS.Platform = process.platform,
  env: NodeJS.ProcessEnv = process.env,
): readonly [program: string, ...args: string[]] | null {
  if (platform === 'darwin') return ['open', address];
  // The shell of Windows takes & as the end of a command; its first quoted argument is a title.
  if (platform === 'win32') return ['cmd', '/c', 'start', '""', address.replaceAll('&', '^&')];
  const hasDisplay = (env['DISPLAY'] ?? env['WAYLAND_DISPLAY'] ?? '') !== '';
  return hasDisplay ? ['xdg-open', address] : null;
}

/** Tries to open an address. A desktop without a browser is not an error: the address has been printed. */
export function openBrowser(address: string): void {
  const command = browserCommand(address);
  if (command === null) return;
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.once('error', () => {});
  child.unref();
}
