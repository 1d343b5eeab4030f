/** A list of names with bars, the largest first. */
import { useState } from 'preact/hooks';
import { barChart, picture } from '../../src/plot/index.js';
import { count } from '../lib/format.js';
import { SaveButtons } from './save-buttons.js';

export interface BarRow {
  readonly name: string;
  readonly value: number;
  readonly href?: string;
  readonly note?: string;
}

interface BarsProps {
  readonly title: string;
  readonly rows: readonly BarRow[];
  readonly format?: (value: number) => string;
}

const few = 10;

export function Bars({ title, rows, format = count }: BarsProps) {
  const [all, setAll] = useState(false);
  const most = Math.max(...rows.map(({ value }) => Math.abs(value)), 1e-12);
  const shown = all ? rows : rows.slice(0, few);
  return (
    <figure class="bars">
      <figcaption>
        {title}
        <SaveButtons title={title} draw={() => draw(title, shown)} />
      </figcaption>
      <table>
        <tbody>
          {shown.map(({ name, value, href, note }) => (
            <tr key={name}>
              <th scope="row">{href === undefined ? name : <a href={href}>{name}</a>}</th>
              <td class="bar-cell" aria-hidden="true">
                <span
                  style={{ width: `${Math.max(1, (100 * Math.abs(value)) / most)}%` }}
                  class={value < 0 ? 'minus' : ''}
                />
              </td>
              <td class="number">
                {format(value)} {note === undefined ? null : <small>{note}</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > few ? (
        <button type="button" class="small" onClick={() => setAll(!all)}>
          {all ? 'Fewer' : `All ${count(rows.length)}`}
        </button>
      ) : null}
    </figure>
  );
}

const shorten = (name: string): string => (name.length > 14 ? `${name.slice(0, 13)}…` : name);

function draw(title: string, rows: readonly BarRow[]): string {
  const values = rows.map(({ value }) => value);
  const names = rows.map(({ name }) => shorten(name));
  const width = Math.max(460, 110 * rows.length);
  const chart = barChart({ title: '', x: '', y: '', names, series: [{ name: title, values }], width });
  return picture([chart], { title, description: title, columns: 1 });
}
