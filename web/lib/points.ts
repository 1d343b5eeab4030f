/**
 * Draws many points with WebGL 2, and finds those near the pointer or inside a lasso. The libraries for this build code from
 * text while they run, which the page's content security policy forbids.
 */
import { isDark, seriesColors, styleColor } from './theme.js';

export interface Points {
  readonly x: Float32Array;
  readonly y: Float32Array;
  /** The colour of each point: 0 … 7 for that of a series, 255 for none. */
  readonly color: Uint8Array<ArrayBuffer>;
}

export interface View {
  /** The point of the data in the middle. */
  readonly x: number;
  readonly y: number;
  /** Pixels for one unit of the data. */
  readonly scale: number;
}

const vertexCode = `#version 300 es
in vec2 place; in float color; in float mark;
uniform vec2 middle; uniform vec2 factor; uniform float size; uniform vec3 colors[9];
out vec4 paint; out float edge;
void main() {
  gl_Position = vec4((place - middle) * factor, mark > 0.5 ? -0.5 : 0.0, 1.0);
  gl_PointSize = mark > 1.5 ? size + 6.0 : mark > 0.5 ? size + 3.0 : size;
  int i = color > 7.5 ? 8 : int(color);
  paint = vec4(colors[i], mark > 0.5 ? 1.0 : mark < -0.5 ? 0.2 : 0.75);
  edge = mark > 0.5 ? 1.0 : 0.0;
}`;

const fragmentCode = `#version 300 es
precision mediump float;
in vec4 paint; in float edge; uniform vec3 outline; out vec4 result;
void main() {
  float far = length(gl_PointCoord - 0.5);
  if (far > 0.5) discard;
  result = edge > 0.5 && far > 0.36 ? vec4(outline, 1.0) : paint;
}`;

export class PointCanvas {
  readonly #canvas: HTMLCanvasElement;
  readonly #gl: WebGL2RenderingContext;
  readonly #program: WebGLProgram;
  readonly #places: WebGLBuffer;
  readonly #colors: WebGLBuffer;
  readonly #marks: WebGLBuffer;
  readonly #points: Points;
  readonly #grid: Grid;
  #view: View;
  #frame = 0;

  /** Throws if the browser has no WebGL 2. */
  constructor(canvas: HTMLCanvasElement, points: Points) {
    const gl = canvas.getContext('webgl2', { antialias: false, preserveDrawingBuffer: true });
    if (gl === null)
      throw new Error('The map needs WebGL 2, which this browser does not offer. Save it as SVG instead.');
    this.#canvas = canvas;
    this.#gl = gl;
    this.#points = points;
    this.#program = compile(gl);
    this.#grid = new Grid(points);
    this.#places = this.#buffer('place', interleave(points), 2, gl.FLOAT);
    this.#colors = this.#buffer('color', points.color, 1, gl.UNSIGNED_BYTE);
    this.#marks = this.#buffer('mark', new Int8Array(points.x.length), 1, gl.BYTE);
    this.#view = this.whole();
  }

  get view(): View {
    return this.#view;
  }

  set view(view: View) {
    this.#view = view;
    this.draw();
  }

  /** Returns the view that shows all points. */
  whole(): View {
    const { left, right, low, high } = this.#grid.bounds;
    const { clientWidth, clientHeight } = this.#canvas;
    const scale = 0.92 * Math.min(clientWidth / (right - left || 1), clientHeight / (high - low || 1));
    return {
      x: (left + right) / 2,
      y: (low + high) / 2,
      scale: Number.isFinite(scale) && scale > 0 ? scale : 1,
    };
  }

  /** Sets how points are shown: −1 faint, 0 plain, 1 marked, 2 the one in question. */
  mark(marks: Int8Array<ArrayBuffer>): void {
    const gl = this.#gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#marks);
    gl.bufferData(gl.ARRAY_BUFFER, marks, gl.DYNAMIC_DRAW);
    this.draw();
  }

  /** Draws in the next frame. */
  draw(): void {
    if (this.#frame === 0)
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0;
        this.#drawNow();
      });
  }

  #drawNow(): void {
    const { clientWidth, clientHeight } = this.#canvas;
    const ratio = Math.min(2, devicePixelRatio);
    const [width, height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width;
      this.#canvas.height = height;
    }
    const gl = this.#gl;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const { x, y, scale } = this.#view;
    const at = (name: string) => gl.getUniformLocation(this.#program, name);
    gl.uniform2f(at('middle'), x, y);
    gl.uniform2f(at('factor'), (2 * scale) / clientWidth, (2 * scale) / clientHeight);
    gl.uniform1f(at('size'), ratio * pointSize(this.#points.x.length));
    gl.uniform3fv(at('colors'), themeColors());
    gl.uniform3fv(at('outline'), rgb(styleColor('text')));
    gl.drawArrays(gl.POINTS, 0, this.#points.x.length);
  }

  /** Returns the nearest point within some pixels of a place on the canvas; −1 if there is none. */
  near(px: number, py: number, pixels = 12): number {
    const { x, y } = this.toData(px, py);
    return this.#grid.nearest(x, y, pixels / this.#view.scale);
  }

  /** Returns the point nearest to the middle of the canvas; −1 if all are far from it. */
  nearMiddle(): number {
    const { clientWidth, clientHeight } = this.#canvas;
    return this.near(clientWidth / 2, clientHeight / 2, Math.min(clientWidth, clientHeight) / 2);
  }

  /** Returns the points that the canvas shows. */
  inView(): number[] {
    const { clientWidth: right, clientHeight: low } = this.#canvas;
    return this.inside([
      [0, 0],
      [right, 0],
      [right, low],
      [0, low],
    ]);
  }

  /** Returns the points inside a polygon of the canvas. */
  inside(polygon: readonly (readonly [number, number])[]): number[] {
    const corners = polygon.map(([px, py]) => this.toData(px, py));
    const { x, y } = this.#points;
    const found: number[] = [];
    for (let i = 0; i < x.length; i++) if (contains(corners, x[i], y[i])) found.push(i);
    return found;
  }

  toData(px: number, py: number): { readonly x: number; readonly y: number } {
    const { x, y, scale } = this.#view;
    const { clientWidth, clientHeight } = this.#canvas;
    return { x: x + (px - clientWidth / 2) / scale, y: y - (py - clientHeight / 2) / scale };
  }

  /** Returns the place of a point on the canvas. */
  toCanvas(i: number): readonly [number, number] {
    const { x, y, scale } = this.#view;
    const { clientWidth, clientHeight } = this.#canvas;
    return [
      (this.#points.x[i] - x) * scale + clientWidth / 2,
      clientHeight / 2 - (this.#points.y[i] - y) * scale,
    ];
  }

  /** Changes the colours of the points. */
  recolor(color: Uint8Array<ArrayBuffer>): void {
    const gl = this.#gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#colors);
    gl.bufferData(gl.ARRAY_BUFFER, color, gl.STATIC_DRAW);
    this.draw();
  }

  /** Releases memory of the GPU; the canvas may be drawn on by another. */
  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#gl.deleteProgram(this.#program);
    for (const buffer of [this.#places, this.#colors, this.#marks]) this.#gl.deleteBuffer(buffer);
  }

  #buffer(name: string, values: BufferSource, width: number, type: number): WebGLBuffer {
    const gl = this.#gl;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    const place = gl.getAttribLocation(this.#program, name);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, width, type, false, 0, 0);
    return buffer;
  }
}

/** Many points are small, so that they do not cover each other. */
const pointSize = (count: number): number => Math.max(3, Math.min(10, 72 / Math.log2(count + 2) - 1));

function compile(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, code] of [
    [gl.VERTEX_SHADER, vertexCode],
    [gl.FRAGMENT_SHADER, fragmentCode],
  ] as const) {
    const shader = gl.createShader(type) as WebGLShader;
    gl.shaderSource(shader, code);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
    throw new Error(`The map cannot be drawn: ${gl.getProgramInfoLog(program)}`);
  gl.useProgram(program);
  return program;
}

function interleave({ x, y }: Points): Float32Array<ArrayBuffer> {
  const places = new Float32Array(2 * x.length);
  for (let i = 0; i < x.length; i++) {
    places[2 * i] = x[i];
    places[2 * i + 1] = y[i];
  }
  return places;
}

function rgb(color: string): [number, number, number] {
  const value = Number.parseInt(color.replace('#', ''), 16);
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

function themeColors(): Float32Array {
  const dark = isDark() ? 1 : 0;
  return Float32Array.from([...seriesColors.map((pair) => pair[dark]), styleColor('faint')].flatMap(rgb));
}

interface Bounds {
  readonly left: number;
  readonly right: number;
  readonly low: number;
  readonly high: number;
}

/** Points by cell, so that few are compared with the pointer. */
class Grid {
  readonly bounds: Bounds;
  readonly #points: Points;
  readonly #side: number;
  readonly #starts: Int32Array;
  readonly #order: Int32Array;

  constructor(points: Points) {
    const { x, y } = points;
    this.#points = points;
    this.bounds = boundsOf(points);
    this.#side = Math.max(1, Math.floor(Math.sqrt(x.length / 4)));
    const cells = this.#side * this.#side;
    const cellOf = Int32Array.from(x, (_, i) => this.#cell(x[i], y[i]));
    this.#starts = new Int32Array(cells + 1);
    for (const cell of cellOf) this.#starts[cell + 1]++;
    for (let cell = 0; cell < cells; cell++) this.#starts[cell + 1] += this.#starts[cell];
    const next = this.#starts.slice();
    this.#order = new Int32Array(x.length);
    for (let i = 0; i < x.length; i++) this.#order[next[cellOf[i]]++] = i;
  }

  nearest(x: number, y: number, radius: number): number {
    const [fromColumn, toColumn] = [this.#column(x - radius), this.#column(x + radius)];
    const [fromRow, toRow] = [this.#row(y - radius), this.#row(y + radius)];
    let [best, least] = [-1, radius * radius];
    for (let row = fromRow; row <= toRow; row++)
      for (let cell = row * this.#side + fromColumn; cell <= row * this.#side + toColumn; cell++)
        for (let at = this.#starts[cell]; at < this.#starts[cell + 1]; at++) {
          const i = this.#order[at];
          const far = (this.#points.x[i] - x) ** 2 + (this.#points.y[i] - y) ** 2;
          if (far <= least) [best, least] = [i, far];
        }
    return best;
  }

  #cell(x: number, y: number): number {
    return this.#row(y) * this.#side + this.#column(x);
  }

  #column(x: number): number {
    const { left, right } = this.bounds;
    return clamp(Math.floor(((x - left) / (right - left || 1)) * this.#side), this.#side);
  }

  #row(y: number): number {
    const { low, high } = this.bounds;
    return clamp(Math.floor(((y - low) / (high - low || 1)) * this.#side), this.#side);
  }
}

const clamp = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value || 0));

function boundsOf({ x, y }: Points): Bounds {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < x.length; i++) {
    left = Math.min(left, x[i]);
    right = Math.max(right, x[i]);
    low = Math.min(low, y[i]);
    high = Math.max(high, y[i]);
  }
  return x.length === 0 ? { left: 0, right: 1, low: 0, high: 1 } : { left, right, low, high };
}

/** Returns whether a point is inside a polygon, by the number of its sides to the right. */
function contains(
  corners: readonly { readonly x: number; readonly y: number }[],
  x: number,
  y: number,
): boolean {
  let inside = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i++) {
    const [a, b] = [corners[i], corners[j]];
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}
