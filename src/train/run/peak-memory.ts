/** The peak memory of this process, as measured by the system. */

/** Returns the peak resident set in MiB, rounded up. */
export function peakRssMb(): number {
  // Node.js reports KiB on every platform.
  return Math.ceil(process.resourceUsage().maxRSS / 1024);
}
