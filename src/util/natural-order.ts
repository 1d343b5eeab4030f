/** Compares names with numbers in them by value: `checkpoint_9` comes before `checkpoint_10`. */
export function compareNaturally(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
