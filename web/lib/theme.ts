/** Colours of charts that are drawn on a canvas, which has no style sheet. They are those of src/plot. */
import { useEffect, useState } from 'preact/hooks';
import { seriesColors } from '../../src/plot/svg.js';

export { seriesColors };

export const isDark = (): boolean => {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
};

export const seriesColor = (i: number): string => seriesColors[i % seriesColors.length][isDark() ? 1 : 0];

/** Returns the value of a colour of the style sheet. */
export const styleColor = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Returns whether the page is dark; a component that calls it is drawn again when that changes. */
export function useDark(): boolean {
  const [dark, setDark] = useState(isDark);
  useEffect(() => {
    const read = (): void => setDark(isDark());
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', read);
    addEventListener('themechange', read);
    return () => {
      system.removeEventListener('change', read);
      removeEventListener('themechange', read);
    };
  }, []);
  return dark;
}
