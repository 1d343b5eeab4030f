/** What the pages of docs/ assume: files in the working directory, and values that their TypeScript blocks use. */

export interface Setup {
  /** Files to write, by path relative to the working directory of the page. */
  readonly files?: Readonly<Record<string, string>>;
  /** TypeScript in front of each program of the page, for example the reader's own graph. */
  readonly prelude?: string;
}

export const setups: Readonly<Record<string, Setup>> = {
  'docs/graphs.md': {
    prelude: `
import { Graph, randn } from 'skein';
const [numNodes, numEdges] = [50, 200];
const graph = Graph.fromEdges(
  Array.from({ length: numEdges }, (_, i) => (i * 7) % numNodes),
  Array.from({ length: numEdges }, (_, i) => (i * 3 + 1) % numNodes),
  { numNodes },
);
const x = randn([numNodes, 100]);
const labels = Int32Array.from({ length: numNodes }, (_, i) => i % 47);
const trainIds = Int32Array.from({ length: 30 }, (_, i) => i);
`,
  },
};
