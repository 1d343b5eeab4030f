/** Returns the peak resident set of this process in MiB, rounded up. */
export function peakRssMb(): number {
  // Node.js reports KiB on every platform.
  return Math.ceil(process.resourceUsage().maxRSS / 1024);
}
