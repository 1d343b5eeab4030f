/** A small curve next to a row of a table. */
interface SparklineProps {
  readonly values: readonly number[];
  /** Text for screen readers, and for a pointer that rests on the curve. */
  readonly label: string;
  readonly series?: number;
}

const [width, height] = [110, 24];

export function Sparkline({ values, label, series = 0 }: SparklineProps) {
  const finite = values.filter(Number.isFinite);
  if (finite.length < 2) return <span class="quiet">–</span>;
  const low = Math.min(...finite);
  const range = Math.max(...finite) - low || 1;
  const points = values.flatMap((value, i) =>
    Number.isFinite(value)
      ? [
          `${((i / (values.length - 1)) * (width - 4) + 2).toFixed(1)},${(height - 3 - ((value - low) / range) * (height - 6)).toFixed(1)}`,
        ]
      : [],
  );
  return (
    <svg class={`sparkline s${series}`} width={width} height={height} role="img" aria-label={label}>
      <title>{label}</title>
      <polyline points={points.join(' ')} />
    </svg>
  );
}
