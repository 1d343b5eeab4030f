/** A small graph as SVG: nodes are links, so that keys and screen readers reach them. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { forceLayout } from '../../src/plot/force-layout.js';
import { relationSeries, seriesNames } from '../../src/plot/index.js';
import { labelsThatFit, shorten, textPlace } from '../lib/graph-labels.js';

export interface DrawnEdge {
  readonly from: number;
  readonly to: number;
  /** '' for edges without a relation. */
  readonly relation: string;
  readonly split: string;
  readonly time: number | null;
  readonly predicted?: boolean;
}

export interface DrawnNode {
  readonly name: string;
  readonly distance: number;
  /** Its class or type, by which it is coloured. */
  readonly group?: string | null;
}

interface GraphDrawingProps {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  /** Classes or types of the nodes, in the order of their colours. */
  readonly groups: readonly string[];
  readonly chosen: string;
  readonly onChoose: (name: string) => void;
  readonly onExpand: (name: string) => void;
}

/** The size of the drawing: text keeps its size, so that a narrow screen shows a smaller one. */
interface Size {
  readonly width: number;
  readonly height: number;
}

const sizeOf = (isNarrow: boolean): Size =>
  isNarrow ? { width: 400, height: 440 } : { width: 760, height: 560 };
const border = 40;

export function GraphDrawing(props: GraphDrawingProps) {
  const { nodes, edges, groups, chosen, onChoose, onExpand } = props;
  const isNarrow = matchMedia('(max-width: 560px)').matches;
  const { width, height } = sizeOf(isNarrow);
  const places = useMemo(() => layout(nodes.length, edges, sizeOf(isNarrow)), [nodes, edges, isNarrow]);
  const { picked, pick, pointed } = usePicked(chosen);
  const series = useMemo(() => relationSeries(edges.map(({ relation }) => relation)), [edges]);
  const labels = labelsThatFit(nodes, places, { width, chosen });
  return (
    <figure class="graph">
      {/* biome-ignore lint/a11y/useSemanticElements: A drawing of several buttons is a group; HTML has none for drawings. */}
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label={`Graph around ${chosen}: ${nodes.length} nodes and ${edges.length} edges`}
      >
        {edges.map(({ from, to, relation, split, predicted }, i) => {
          const [x1, y1] = places[from];
          const [x2, y2] = places[to];
          const kind = predicted === true ? 'predicted' : split === 'train' ? 'known' : 'held';
          return (
            <line key={i} class={`s${series.get(relation)} ${kind}`} {...{ x1, y1, x2, y2 }}>
              <title>
                {nodes[from].name} {relation} {nodes[to].name}
                {kind === 'predicted' ? ' (predicted)' : kind === 'held' ? ` (held out for ${split})` : ''}
              </title>
            </line>
          );
        })}
        {nodes.map(({ name, distance, group }, i) => {
          const [x, y] = places[i];
          const isOwn = name === chosen;
          return (
            // biome-ignore lint/a11y/useSemanticElements: SVG has no buttons.
            <g
              key={name}
              class={`node${isOwn ? ' own' : ''}${name === picked ? ' picked' : ''}${group == null ? '' : ` s${groups.indexOf(group) % 8}`}`}
              transform={`translate(${x} ${y})`}
              role="button"
              // Attributes of SVG keep their case, and that of HTML is not known there.
              tabindex={0}
              aria-label={`${name}: Enter explores it, E shows its edges`}
              onPointerDown={({ pointerType }) => {
                pointed.current = pointerType;
              }}
              onClick={() => (pointed.current === 'touch' ? pick(name) : isOwn ? undefined : onChoose(name))}
              onDblClick={() => onExpand(name)}
              onContextMenu={(event) => {
                event.preventDefault();
                onExpand(name);
              }}
              onKeyDown={(event) => {
                if (event.key === 'Enter' || event.key === ' ') {
                  event.preventDefault();
                  onChoose(name);
                }
                if (event.key === 'e') onExpand(name);
              }}
            >
              {group == null ? null : <title>{`${name}: ${group}`}</title>}
              <circle r={isOwn ? 9 : distance > 1 ? 5 : 6.5} />
              <text {...textPlace(x, width)} class={labels.has(i) ? '' : 'crowded'}>
                {shorten(name)}
              </text>
            </g>
          );
        })}
      </svg>
      <figcaption>
        <Legend {...{ edges, series, groups }} />
        {picked === null ? (
          <small>
            Click a node to explore it; right-click, or press E, to add its edges. A tap offers both.
          </small>
        ) : (
          <span class="chips">
            {picked === chosen ? null : (
              <button type="button" onClick={() => onChoose(picked)}>
                Explore {picked}
              </button>
            )}
            <button type="button" onClick={() => onExpand(picked)}>
              Add the edges of {picked}
            </button>
          </span>
        )}
      </figcaption>
    </figure>
  );
}

interface LegendProps extends Pick<GraphDrawingProps, 'edges' | 'groups'> {
  readonly series: ReadonlyMap<string, number>;
}

function Legend({ edges, series, groups }: LegendProps) {
  return (
    <ul class="legend">
      {groups.slice(0, 8).map((group, i) => (
        <li key={group}>
          <span class={`dot s${i}`} /> {group}
        </li>
      ))}
      {seriesNames(series).map((relation, i) =>
        relation === '' ? null : (
          <li key={relation}>
            <span class={`line s${i}`} /> {relation}
          </li>
        ),
      )}
      {edges.some(({ predicted }) => predicted) ? (
        <li>
          <span class="line dashed" /> predicted
        </li>
      ) : null}
      {edges.some(({ split }) => split !== 'train') ? (
        <li>
          <span class="line dotted" /> held out
        </li>
      ) : null}
    </ul>
  );
}

/** The node that was tapped: a finger has no second button, so that buttons offer what to do with it. */
function usePicked(chosen: string) {
  const [picked, setPicked] = useState<{ readonly name: string; readonly around: string } | null>(null);
  const pointed = useRef('mouse');
  return {
    picked: picked?.around === chosen ? picked.name : null,
    pick: (name: string): void => setPicked({ name, around: chosen }),
    pointed,
  };
}

function layout(
  count: number,
  edges: readonly DrawnEdge[],
  { width, height }: Size,
): (readonly [number, number])[] {
  const { x, y } = forceLayout(
    count,
    edges.map(({ from, to }) => [from, to] as const),
    count > 150 ? 120 : 300,
  );
  const bounds = (values: Float64Array): readonly [number, number] => [
    values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY),
    values.reduce((high, value) => Math.max(high, value), Number.NEGATIVE_INFINITY),
  ];
  const place = (values: Float64Array, length: number) => {
    const [low, high] = bounds(values);
    return (value: number): number =>
      high > low ? border + ((value - low) / (high - low)) * (length - 2 * border) : length / 2;
  };
  const [toX, toY] = [place(x, width), place(y, height)];
  return Array.from(x, (value, i) => [toX(value), toY(y[i])] as const);
}
