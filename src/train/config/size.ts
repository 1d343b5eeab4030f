/** Sizes as people write them: `2G`, `1.5 GiB`, `500M`, `1048576`. Units are powers of 1024. */

const units: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** Bytes, or undefined when it is no size. */
export function parseSize(value: string | number): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? value : undefined;
  const match = /^\s*(\d+(?:\.\d+)?|\.\d+)\s*([kmgt]?)(?:i?b)?\s*$/i.exec(value);
  if (match === null) return undefined;
  const bytes = Math.round(Number(match[1]) * units[match[2].toLowerCase()]);
  return bytes > 0 ? bytes : undefined;
}

/** `1.5 GiB`; exact to three digits, for people. */
export function formatSize(bytes: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let power = 0;
  while (power < names.length - 1 && Math.abs(bytes) >= 1024 ** (power + 1)) power++;
  return `${power === 0 ? bytes : Number((bytes / 1024 ** power).toPrecision(3))} ${names[power]}`;
}
