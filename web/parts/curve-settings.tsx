/** Smoothing and logarithmic axes, kept in the address. */
import { type Route, replaceOptions } from '../lib/router.js';

export interface CurveSettings {
  readonly smoothing: number;
  readonly logX: boolean;
  readonly logY: boolean;
}

export const settingsOf = ({ options }: Route): CurveSettings => ({
  smoothing: Math.min(0.99, Math.max(0, Number(options.get('smooth') ?? 0) || 0)),
  logX: options.get('logx') === '1',
  logY: options.get('logy') === '1',
});

export function CurveControls({ smoothing, logX, logY }: CurveSettings) {
  return (
    <div class="controls">
      <label>
        Smoothing{' '}
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={smoothing}
          onInput={(event) => replaceOptions({ smooth: Number(event.currentTarget.value) || undefined })}
        />{' '}
        <output>{smoothing.toFixed(2)}</output>
      </label>
      <label>
        <input
          type="checkbox"
          checked={logX}
          onChange={() => replaceOptions({ logx: logX ? undefined : 1 })}
        />{' '}
        log x
      </label>
      <label>
        <input
          type="checkbox"
          checked={logY}
          onChange={() => replaceOptions({ logy: logY ? undefined : 1 })}
        />{' '}
        log y
      </label>
    </div>
  );
}
