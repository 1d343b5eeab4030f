/**
 * Additional cases that repeat, with other sizes, numbers of workers or families, what a few prove already. The
 * default suite runs the few, `npm run test:full` all (it sets SKEIN_TEST_WIDE).
 */
export const isWide = process.env['SKEIN_TEST_WIDE'] === '1';

/** The default cases, or those and more. */
export function wide<T>(usual: readonly T[], more: readonly T[]): T[] {
  return isWide ? [...usual, ...more] : [...usual];
}
