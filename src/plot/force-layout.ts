/**
 * Positions of a small graph's nodes: springs along edges, repulsion between all pairs (Fruchterman and Reingold, 1991). The
 * result depends on the graph alone: nodes start on a spiral, not at random. Quadratic in the number of nodes, so for
 * neighbourhoods of some hundred.
 */

export interface Layout {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

/** @param edges pairs of node numbers */
export function forceLayout(
  numNodes: number,
  edges: readonly (readonly [number, number])[],
  steps = 300,
): Layout {
  const x = new Float64Array(numNodes);
  const y = new Float64Array(numNodes);
  // The angle of sunflower seeds: no two nodes share a place or a direction.
  for (let i = 0; i < numNodes; i++) {
    const [angle, radius] = [i * 2.399963229728653, Math.sqrt(i / Math.max(1, numNodes))];
    x[i] = radius * Math.cos(angle);
    y[i] = radius * Math.sin(angle);
  }
  const ideal = 1 / Math.sqrt(Math.max(1, numNodes));
  const forceX = new Float64Array(numNodes);
  const forceY = new Float64Array(numNodes);
  for (let step = 0; step < steps; step++) {
    repel(x, y, ideal, forceX, forceY);
    attract(x, y, edges, ideal, forceX, forceY);
    // Steps shrink, so that the layout comes to rest.
    const longest = 0.12 * (1 - step / steps);
    for (let i = 0; i < numNodes; i++) {
      // Towards the middle a little: parts without an edge between them stay in the picture.
      const [fx, fy] = [forceX[i] - 0.4 * x[i], forceY[i] - 0.4 * y[i]];
      const size = Math.hypot(fx, fy) || 1;
      x[i] += (fx / size) * Math.min(size * ideal, longest);
      y[i] += (fy / size) * Math.min(size * ideal, longest);
    }
  }
  return { x, y };
}

function repel(
  x: Float64Array,
  y: Float64Array,
  ideal: number,
  forceX: Float64Array,
  forceY: Float64Array,
): void {
  forceX.fill(0);
  forceY.fill(0);
  for (let i = 0; i < x.length; i++)
    for (let j = 0; j < i; j++) {
      const [dx, dy] = [x[i] - x[j], y[i] - y[j]];
      const squared = Math.max(dx * dx + dy * dy, 1e-6);
      const force = (ideal * ideal) / squared / ideal;
      forceX[i] += dx * force;
      forceY[i] += dy * force;
      forceX[j] -= dx * force;
      forceY[j] -= dy * force;
    }
}

function attract(
  x: Float64Array,
  y: Float64Array,
  edges: readonly (readonly [number, number])[],
  ideal: number,
  forceX: Float64Array,
  forceY: Float64Array,
): void {
  for (const [a, b] of edges) {
    if (a === b) continue;
    const [dx, dy] = [x[a] - x[b], y[a] - y[b]];
    const force = Math.hypot(dx, dy) / ideal / ideal;
    forceX[a] -= dx * force * ideal;
    forceY[a] -= dy * force * ideal;
    forceX[b] += dx * force * ideal;
    forceY[b] += dy * force * ideal;
  }
}
