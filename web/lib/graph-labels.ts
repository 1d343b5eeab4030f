/** Names in the drawing of a graph: where they stand, and which of them have room. */

/** Names stand to the right of their nodes, but those at the right border to the left. */
export function textPlace(x: number, width: number) {
  const isLeft = x > width * 0.62;
  return { x: isLeft ? -11 : 11, y: 4, 'text-anchor': isLeft ? ('end' as const) : ('start' as const) };
}

/** Pixels of a letter and of a line. */
const [letter, line] = [6.4, 14];

/** Returns the nodes whose names are shown: others would cover a name or a node. The chosen node's is always shown. */
export function labelsThatFit(
  nodes: readonly { readonly name: string; readonly distance: number }[],
  places: readonly (readonly [number, number])[],
  { width, chosen }: { readonly width: number; readonly chosen: string },
): ReadonlySet<number> {
  const order = nodes.map((_, i) => i).sort((a, b) => nodes[a].distance - nodes[b].distance);
  const shown = new Map<number, readonly [left: number, right: number, y: number]>();
  for (const i of order.sort((a, b) => Number(nodes[b].name === chosen) - Number(nodes[a].name === chosen))) {
    const [x, y] = places[i];
    const { x: offset } = textPlace(x, width);
    const length = letter * shorten(nodes[i].name).length;
    const [left, right] = offset > 0 ? [x + offset, x + offset + length] : [x + offset - length, x + offset];
    const isFree = [...shown.values()].every(
      ([otherLeft, otherRight, otherY]) =>
        right < otherLeft || left > otherRight || Math.abs(y - otherY) >= line,
    );
    const coversNode = places.some(
      ([nodeX, nodeY], other) =>
        other !== i && nodeX > left - 6 && nodeX < right + 6 && Math.abs(nodeY - y) < 9,
    );
    if (isFree && (!coversNode || nodes[i].name === chosen)) shown.set(i, [left, right, y]);
  }
  return new Set(shown.keys());
}

export const shorten = (name: string): string => (name.length > 26 ? `${name.slice(0, 25)}…` : name);
