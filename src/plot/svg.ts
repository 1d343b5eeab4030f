/**
 * SVG as text: elements with escaped attributes, and whole pictures that follow the reader's light or dark theme. Pictures
 * need no scripts, fonts or network, so that they open anywhere and can be committed.
 */

export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A drawing with a size, to be placed in a picture. */
export interface Panel {
  readonly width: number;
  readonly height: number;
  /** SVG elements; the origin is the upper left corner. */
  readonly body: string;
}

/** Returns text with the characters that XML reserves, and without those that it forbids. */
export function escapeText(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 has no form for them.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
      .replace(/[&<>"]/g, (found) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[found] ?? '&quot;')
  );
}

/** Coordinates have two decimals: finer ones cannot be seen and double the size of a file. */
const attribute = (value: string | number): string =>
  typeof value === 'number' ? String(Math.round(value * 100) / 100) : escapeText(value);

/** Returns an element; attributes that are undefined are left out. Children are elements or escaped text. */
export function element(tag: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes).map(([name, value]) =>
    value === undefined ? '' : ` ${name}="${attribute(value)}"`,
  );
  return children.length === 0
    ? `<${tag}${written.join('')}/>`
    : `<${tag}${written.join('')}>${children.join('')}</${tag}>`;
}

/** Returns a line of text. */
export function label(content: string, x: number, y: number, attributes: Attributes = {}): string {
  return element('text', { x, y, ...attributes }, escapeText(content));
}

/** Returns the class of series i, which has its colour; there are eight colours. */
export const seriesClass = (i: number): string => `s${i % seriesColors.length}`;

/** Colours that differ for readers with colour-vision deficiencies too, for light and dark backgrounds. */
export const seriesColors: readonly (readonly [light: string, dark: string])[] = [
  ['#0969da', '#58a6ff'],
  ['#d1570f', '#ffa657'],
  ['#1a7f5a', '#3fcf8e'],
  ['#a3308f', '#e58bd5'],
  ['#8a6d00', '#e3c04b'],
  ['#0f7f91', '#5cd0e0'],
  ['#c2253c', '#ff7b85'],
  ['#57606a', '#adb5bd'],
];

interface Theme {
  readonly back: string;
  readonly text: string;
  readonly faint: string;
  readonly line: string;
}

const themes: readonly Theme[] = [
  { back: '#ffffff', text: '#1f2328', faint: '#59636e', line: '#d8dee4' },
  { back: '#0d1117', text: '#e6edf3', faint: '#9198a1', line: '#30363d' },
];

function themeRules({ back, text, faint, line }: Theme, dark: 0 | 1): string {
  const series = seriesColors.map((pair, i) => `.s${i}{--c:${pair[dark]}}`).join('');
  return `svg{--back:${back};--text:${text};--faint:${faint};--line:${line}}${series}`;
}

const styles = [
  themeRules(themes[0], 0),
  `@media (prefers-color-scheme:dark){${themeRules(themes[1], 1)}}`,
  'text{font:12px system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--text)}',
  '.back{fill:var(--back)}.faint{fill:var(--faint)}.title{font-weight:600;font-size:14px}.small{font-size:10px}',
  '.grid{stroke:var(--line);fill:none}.axis{stroke:var(--faint);fill:none}',
  '.curve{stroke:var(--c);fill:none;stroke-width:1.75;stroke-linejoin:round}.fill{fill:var(--c)}',
  '.edge{stroke:var(--c);fill:none;stroke-width:1.25}.dash{stroke-dasharray:4 3}.halo{stroke:var(--back);stroke-width:3;paint-order:stroke}',
].join('');

/** Returns panels in a grid as an SVG file. The title and the description are read out by screen readers. */
export function picture(
  panels: readonly Panel[],
  {
    title,
    description,
    columns = 2,
  }: { readonly title: string; readonly description: string; readonly columns?: number },
): string {
  const gap = 16;
  const perRow = Math.max(1, Math.min(columns, panels.length));
  const width = Math.max(0, ...panels.map((panel) => panel.width)) * perRow + gap * (perRow + 1);
  const placed: string[] = [];
  let y = gap + 28;
  for (let from = 0; from < panels.length; from += perRow) {
    const row = panels.slice(from, from + perRow);
    let x = gap;
    for (const panel of row) {
      placed.push(element('g', { transform: `translate(${x} ${y})` }, panel.body));
      x += panel.width + gap;
    }
    y += Math.max(...row.map((panel) => panel.height)) + gap;
  }
  return `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      width,
      height: y,
      viewBox: `0 0 ${width} ${y}`,
      role: 'img',
      'aria-labelledby': 't d',
    },
    element('title', { id: 't' }, escapeText(title)),
    element('desc', { id: 'd' }, escapeText(description)),
    element('style', {}, styles),
    element('rect', { class: 'back', width, height: y }),
    label(title, gap, gap + 12, { class: 'title' }),
    ...placed,
  )}\n`;
}
