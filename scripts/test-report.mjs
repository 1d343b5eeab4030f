/** Reads a report of vitest (--reporter=json): how many tests passed, failed and were skipped, and why. */
import { existsSync, readFileSync } from 'node:fs';

/** Returns the arguments that make vitest write a report in addition to its default output. */
export const reportArguments = (path) => [
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${path}`,
];

/** Returns whether vitest reported the run as a success. */
export const succeeded = (path) => JSON.parse(readFileSync(path, 'utf8')).success === true;

/** Returns the reasons of skipped tests, from their names (`… (skipped: reason)`), with the number of tests of each. */
function skippedReasons(report) {
  const reasons = new Map();
  for (const { fullName, status } of report.testResults.flatMap((file) => file.assertionResults)) {
    const reason = /\(skipped[:,]? ([^)]*)\)/.exec(fullName)?.[1];
    if (reason === undefined || (status !== 'pending' && status !== 'skipped')) continue;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return Object.fromEntries(reasons);
}

/**
 * Returns the counts of one vitest report; `code` is the exit code of the run. A missing report, a file that does not
 * load, tests of a process that died and an unexplained exit code are failures.
 */
export function countReport(path, code) {
  if (!existsSync(path)) return { passed: 0, failed: 1, skipped: 0, reasons: {} };
  const report = JSON.parse(readFileSync(path, 'utf8'));
  const unloaded = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  const { numTotalTests, numPassedTests, numFailedTests, numPendingTests, numTodoTests } = report;
  // Tests of a process that died have no result.
  const lost = numTotalTests - numPassedTests - numFailedTests - numPendingTests - numTodoTests;
  const failed = numFailedTests + unloaded.length + lost;
  return {
    passed: numPassedTests,
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: numPendingTests + numTodoTests,
    reasons: skippedReasons(report),
  };
}

/** Describes the first failure in a report; for a report in which `countReport` found failures. */
export function firstFailure(path) {
  if (!existsSync(path)) return 'the run ended without a report';
  const { testResults } = JSON.parse(readFileSync(path, 'utf8'));
  const failed = testResults
    .flatMap((file) => file.assertionResults)
    .find(({ status }) => status === 'failed');
  if (failed !== undefined) return failed.fullName;
  const file = testResults.find(({ status }) => status === 'failed');
  return file === undefined ? 'tests without a result: their process died' : `${file.name} did not finish`;
}
