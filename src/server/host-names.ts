/** Names under which a server is reached. */
import { hostname, networkInterfaces } from 'node:os';

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

/** Whether a server with this host listens on all addresses of the machine. */
export const isEveryAddress = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Returns an address under which this machine reaches a server: a browser cannot open the one that means all addresses. */
export function reachableHost(host: string): string {
  if (!isEveryAddress(host)) return host;
  return host === '::' ? '::1' : '127.0.0.1';
}

/**
 * Returns the Host headers of a server: its address; if it listens on all addresses, those of the machine and its
 * name.
 */
export function hostNames(host: string, port: number): string[] {
  const own = isEveryAddress(host)
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
