/** The most memory that this process had in use, as the system counts it. */

/** MiB, rounded up. */
export function peakRssMb(): number {
  // Node gives KiB on every platform.
  return Math.ceil(process.resourceUsage().maxRSS / 1024);
}
