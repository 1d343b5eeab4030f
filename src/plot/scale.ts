/** Scales of axes: they map values to fractions of the axis, and choose ticks that are round numbers. */

export interface Scale {
  /** Returns the fraction of the axis, 0 to 1 within the domain. */
  map(value: number): number;
  readonly ticks: readonly number[];
}

/** Round steps that give about `count` intervals between two values. */
function roundStep(span: number, count: number): number {
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((one) => one * power >= rough * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** Returns a linear scale whose domain contains all finite values and ends at ticks. */
export function linearScale(
  values: Iterable<number>,
  {
    count = 5,
    from,
    whole = false,
  }: { readonly count?: number; readonly from?: number; readonly whole?: boolean } = {},
): Scale {
  let [low, high] = rangeOf(values);
  if (from !== undefined) low = Math.min(low, from);
  if (low === high) {
    const margin = Math.abs(low) * 0.1 || 1;
    [low, high] = whole ? [low - 1, high + 1] : [low - margin, high + margin];
  }
  let step = roundStep(high - low, count);
  if (whole) step = Math.max(1, step);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  // Multiples of the step, rounded to its digits: sums of .1 would not be round.
  const digits = Math.max(0, -Math.floor(Math.log10(step)) + 1);
  const ticks = Array.from({ length: last - first + 1 }, (_, i) =>
    Number(((first + i) * step).toFixed(Math.min(100, digits))),
  );
  const [start, end] = [first * step, last * step];
  return { ticks, map: (value) => (value - start) / (end - start) };
}

/** Returns a logarithmic scale over the positive values; its ticks are powers of ten, or 1, 2, 5 within few of them. */
export function logScale(values: Iterable<number>): Scale {
  const [low, high] = rangeOf(
    [...values].filter((value) => value > 0),
    [1, 10],
  );
  const first = Math.floor(Math.log10(low) + 1e-9);
  let last = Math.ceil(Math.log10(high) - 1e-9);
  if (first === last) last++;
  const powers = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
  const every = Math.ceil(powers.length / 8);
  const ticks =
    powers.length <= 3
      ? powers
          .slice(0, -1)
          .flatMap((power) => [power, 2 * power, 5 * power])
          .concat(powers.slice(-1))
      : powers.filter((_, i) => i % every === 0);
  return { ticks, map: (value) => (Math.log10(value) - first) / (last - first) };
}

/** Returns the lowest and the highest finite value; `otherwise` if there is none. */
function rangeOf(values: Iterable<number>, otherwise: readonly [number, number] = [0, 1]): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? [...otherwise] : [low, high];
}

/** Returns a number as a tick shows it: 0.25, 1,500, 20k, 3M, 1e-5. */
export function tickText(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return '0';
  if (size >= 1e12 || size < 1e-4) return value.toExponential(0).replace('e+', 'e');
  for (const [unit, name] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e4, 'k'],
  ] as const)
    if (size >= unit) return `${Number((value / (name === 'k' ? 1e3 : unit)).toPrecision(4))}${name}`;
  return Number(value.toPrecision(4)).toLocaleString('en', { maximumFractionDigits: 6 });
}
