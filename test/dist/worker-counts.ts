/**
 * With how many workers a test runs: a few in the default suite, since every worker is a process on a machine with few cores,
 * and all of them in the long one (`npm run test:full` sets SKEIN_TEST_WORKERS).
 */
export function workerCounts(usual: readonly number[], more: readonly number[]): number[] {
  const all = process.env['SKEIN_TEST_WORKERS'] === 'all' ? [...usual, ...more] : [...usual];
  return all.sort((a, b) => a - b);
}
