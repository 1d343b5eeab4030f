/**
 * Checks of a partition read from a file, before it is used: as many edges as the ranges state, endpoints of the right
 * types, destinations in the partition. Features are checked where partitions are joined.
 */
import { expected, FormatError } from '../../util/errors.js';
import type { PartitionBook } from './partition-book.js';
import type { PartitionContent } from './partition-content.js';

export function checkContent(book: PartitionBook, content: PartitionContent): void {
  const { part, src, dst, originalNodeIds, originalEdgeIds } = content;
  const nodes = book.nodeRange(part);
  const edges = book.edgeRange(part);
  const numEdges = edges.end - edges.start;
  checkLength(part, 'src', src.length, numEdges);
  checkLength(part, 'dst', dst.length, numEdges);
  if (originalNodeIds !== null)
    checkLength(part, 'original node ids', originalNodeIds.length, nodes.end - nodes.start);
  if (originalEdgeIds !== null) checkLength(part, 'original edge ids', originalEdgeIds.length, numEdges);
  const total = book.numNodes();
  const badSource = src.findIndex((u) => u < 0 || u >= total);
  if (badSource >= 0) throw badEnd(part, 'source', badSource, src[badSource], `0 to ${total - 1}`);
  book.edgeTypeNames.forEach((name, type) => {
    const [from, , to] = name.split(':');
    const { start, end } = book.edgeMap[type][part];
    const held = book.nodeMap[book.nodeType(to)][part];
    for (let i = start - edges.start; i < end - edges.start; i++)
      if (dst[i] < held.start || dst[i] >= held.end)
        throw badEnd(part, 'destination', i, dst[i], `${held.start} to ${held.end - 1}`);
    if (book.nodeTypeNames.length === 1) return;
    const own = book.nodeType(from);
    const { types } = book.toTypeIds(src.subarray(start - edges.start, end - edges.start));
    const wrong = types.findIndex((found) => found !== own);
    if (wrong < 0) return;
    const position = start - edges.start + wrong;
    throw badEnd(part, 'source', position, src[position], `nodes of type ${from}`);
  });
}

function checkLength(part: number, what: string, got: number, want: number): void {
  if (got === want) return;
  throw new FormatError(expected('partition', `${want} values`, `${what} of partition ${part}`, got));
}

function badEnd(part: number, end: string, edge: number, got: number, what: string): FormatError {
  return new FormatError(
    expected(
      'partition',
      what,
      `the ${end} of edge ${edge} in partition ${part}`,
      got,
      'The file is corrupt.',
    ),
    { part, edge },
  );
}
