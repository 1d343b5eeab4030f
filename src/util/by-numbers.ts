/** Compares names as people count: `checkpoint_9` comes before `checkpoint_10`. */
export function byNumbers(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
