/** The points of a map on a canvas: moved, zoomed, chosen and selected with pointer, wheel, fingers and keys. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Colouring, DecodedMap } from '../lib/decode-map.js';
import { count } from '../lib/format.js';
import { PointCanvas } from '../lib/points.js';
import { useDark } from '../lib/theme.js';
import { Failure } from './failure.js';

interface CanvasProps {
  readonly map: DecodedMap;
  readonly colouring: Colouring;
  readonly mode: 'move' | 'lasso';
  readonly chosen: number;
  readonly neighbors: readonly number[];
  readonly selected: readonly number[];
  readonly onChoose: (point: number) => void;
  readonly onSelect: (points: readonly number[]) => void;
  /** Receives a function that returns the points in view. */
  readonly inView: { current: (() => readonly number[]) | null };
}

export function MapCanvas(props: CanvasProps) {
  const { map, colouring, chosen, neighbors, selected, inView } = props;
  const element = useRef<HTMLCanvasElement>(null);
  const points = useRef<PointCanvas | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [hover, setHover] = useState<{
    readonly i: number;
    readonly left: number;
    readonly top: number;
  } | null>(null);
  const [lasso, setLasso] = useState<readonly (readonly [number, number])[]>([]);
  const dark = useDark();
  useEffect(() => {
    const canvas = element.current;
    if (canvas === null) return undefined;
    try {
      points.current = new PointCanvas(canvas, { x: map.x, y: map.y, color: colorsOf(colouring) });
    } catch (thrown) {
      setError(thrown as Error);
      return undefined;
    }
    const drawn = points.current;
    inView.current = () => drawn.inView();
    drawn.draw();
    const observer = new ResizeObserver(() => drawn.draw());
    observer.observe(canvas);
    return () => {
      observer.disconnect();
      drawn.close();
      points.current = null;
    };
  }, [map]);
  useEffect(() => {
    const canvas = element.current;
    return () => canvas?.getContext('webgl2')?.getExtension('WEBGL_lose_context')?.loseContext();
  }, []);
  useEffect(() => points.current?.recolor(colorsOf(colouring)), [map, colouring]);
  // The colours of the theme are read while drawing.
  useEffect(() => points.current?.draw(), [dark]);
  useEffect(() => {
    const marks = new Int8Array(map.x.length).fill(chosen >= 0 || selected.length > 0 ? -1 : 0);
    for (const i of selected) marks[i] = 1;
    for (const i of neighbors) marks[i] = 1;
    if (chosen >= 0) marks[chosen] = 2;
    points.current?.mark(marks);
  }, [map, chosen, neighbors, selected]);
  const handlers = usePointer({ ...props, points, setHover, lasso, setLasso });
  if (error !== null) return <Failure error={error} />;
  return (
    <div class="canvas">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: The canvas has keys of its own, which the role lets through. */}
      <canvas
        ref={element}
        tabIndex={0}
        role="application"
        aria-label="Map of nodes: arrows move it, plus and minus zoom, Enter chooses the node in the middle, the field next to it finds nodes"
        {...handlers}
      />
      <ZoomButtons zoom={(factor) => zoomBy(points.current, factor)} />
      <p class="keys" aria-hidden="true">
        arrows move, + − zoom, 0 shows all, Enter chooses the middle
      </p>
      {lasso.length > 1 ? (
        <svg class="lasso" aria-hidden="true">
          <polygon points={lasso.map((one) => one.join(',')).join(' ')} />
        </svg>
      ) : null}
      {hover === null ? null : (
        <div class="hint" style={{ left: `${hover.left}px`, top: `${hover.top}px` }}>
          {map.names[hover.i]}
          <small>
            {colouring.key !== 'degree' && colouring.group[hover.i] >= 0
              ? `${colouring.names[colouring.group[hover.i]]}, `
              : ''}
            {count(map.degree[hover.i])} edges
          </small>
        </div>
      )}
    </div>
  );
}

/** Returns the colour of each point; 255 is none. */
const colorsOf = ({ group }: Colouring): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(group, (one) => (one < 0 ? 255 : one));

/** Zooms about the middle; a factor of 0 shows all. */
function zoomBy(drawn: PointCanvas | null, factor: number): void {
  if (drawn === null) return;
  drawn.view = factor === 0 ? drawn.whole() : { ...drawn.view, scale: drawn.view.scale * factor };
}

/** Zooms without a wheel. */
function ZoomButtons({ zoom }: { readonly zoom: (factor: number) => void }) {
  return (
    <div class="zoom">
      <button type="button" aria-label="Zoom in" onClick={() => zoom(1.5)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.5)}>
        −
      </button>
      <button type="button" aria-label="Show all" onClick={() => zoom(0)}>
        ⤢
      </button>
    </div>
  );
}

interface PointerState extends CanvasProps {
  readonly points: { readonly current: PointCanvas | null };
  readonly setHover: (hover: { i: number; left: number; top: number } | null) => void;
  readonly lasso: readonly (readonly [number, number])[];
  readonly setLasso: (lasso: readonly (readonly [number, number])[]) => void;
}

/** Moves, zooms, chooses and selects with pointer, wheel and keys. */
function usePointer({ points, mode, onChoose, onSelect, setHover, lasso, setLasso }: PointerState) {
  const pressed = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const place = (event: { offsetX: number; offsetY: number }): [number, number] => [
    event.offsetX,
    event.offsetY,
  ];
  const zoom = (factor: number, [px, py]: readonly [number, number]): void => {
    const drawn = points.current;
    if (drawn === null) return;
    const at = drawn.toData(px, py);
    const { x, y, scale } = drawn.view;
    // The point below the pointer stays where it is.
    drawn.view = { x: at.x + (x - at.x) / factor, y: at.y + (y - at.y) / factor, scale: scale * factor };
  };
  const move = (dx: number, dy: number): void => {
    const drawn = points.current;
    if (drawn === null) return;
    const { x, y, scale } = drawn.view;
    drawn.view = { x: x - dx / scale, y: y + dy / scale, scale };
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      pressed.current = { x: event.offsetX, y: event.offsetY, moved: false };
      if (mode === 'lasso') setLasso([place(event)]);
    },
    onPointerMove: (event: PointerEvent) => {
      const from = pressed.current;
      if (from === null) {
        const i = points.current?.near(...place(event)) ?? -1;
        setHover(i < 0 ? null : { i, left: event.offsetX + 12, top: event.offsetY + 12 });
        return;
      }
      if (mode === 'lasso') {
        setLasso([...lasso, place(event)]);
        return;
      }
      const [dx, dy] = [event.offsetX - from.x, event.offsetY - from.y];
      if (from.moved || Math.hypot(dx, dy) > 3) {
        move(dx, dy);
        pressed.current = { x: event.offsetX, y: event.offsetY, moved: true };
      }
    },
    onPointerUp: (event: PointerEvent) => {
      const from = pressed.current;
      pressed.current = null;
      if (mode === 'lasso') {
        onSelect(lasso.length > 2 ? (points.current?.inside(lasso) ?? []) : []);
        setLasso([]);
      } else if (from !== null && !from.moved) onChoose(points.current?.near(...place(event)) ?? -1);
    },
    onPointerLeave: () => setHover(null),
    onWheel: (event: WheelEvent) => {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * 0.0015), place(event));
    },
    onKeyDown: (event: KeyboardEvent) => {
      const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[
        event.key
      ];
      const drawn = points.current;
      if (drawn === null) return;
      if (step !== undefined) move(step[0], step[1]);
      else if (event.key === '+' || event.key === '=') zoomBy(drawn, 1.25);
      else if (event.key === '-') zoomBy(drawn, 1 / 1.25);
      else if (event.key === '0' || event.key === 'Home') zoomBy(drawn, 0);
      else if (event.key === 'Escape') onChoose(-1);
      else if (event.key === 'Enter') onChoose(drawn.nearMiddle());
      else return;
      event.preventDefault();
    },
  };
}
