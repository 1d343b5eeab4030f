/** Names under which a server is reached. */
import { hostname, networkInterfaces } from 'node:os';

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

/**
 * Returns the Host headers of a server: its address; if it listens on all addresses, those of the machine and its
 * name.
 */
export function hostNames(host: string, port: number): string[] {
  const isAllInterfaces = host === '0.0.0.0' || host === '::';
  const own = isAllInterfaces
    ? [
        hostname(),
        ...Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? []),
      ]
    : [host];
  const names = [...own, 'localhost', '127.0.0.1']
    .map((name) => name.toLowerCase())
    .map((name) => (name.includes(':') ? `[${name}]` : name));
  // The default port is omitted from a Host header.
  return [...new Set(names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])))];
}
