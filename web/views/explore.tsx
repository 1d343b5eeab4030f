/** A node and the edges around it: known ones, predicted ones and held-out ones. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { GraphChartEdge, GraphChartNode } from '../../src/plot/index.js';
import { graphChart, picture } from '../../src/plot/index.js';
import type { ViewProps } from '../app.js';
import { get, modelPath, post, runPath, useLoad } from '../lib/api.js';
import { count, eventTime } from '../lib/format.js';
import { linkTo, replaceOptions } from '../lib/router.js';
import type { NamedNeighborhood, RankedName, RunSummary } from '../lib/types.js';
import { ClassVerdict } from '../parts/class-verdict.js';
import { Empty, Failure } from '../parts/failure.js';
import { type DrawnEdge, type DrawnNode, GraphDrawing } from '../parts/graph-drawing.js';
import { NameInput } from '../parts/name-input.js';
import { ExplainedRow, Why } from '../parts/reasons.js';
import { SaveButtons } from '../parts/save-buttons.js';

export function ExploreView({ route, list }: ViewProps) {
  const node = route.options.get('node') ?? '';
  const hops = Math.min(3, Math.max(1, Number(route.options.get('hops') ?? 1) || 1));
  const run = list.runs.find(({ name }) => name === route.run);
  return (
    <>
      <div class="bar">
        <h1>Explore</h1>
        <NameInput
          run={route.run}
          of="nodes"
          label="Node"
          value={node}
          placeholder="Name of a node"
          onChoose={(name) => replaceOptions({ node: name })}
        />
        <label>
          Steps{' '}
          <select value={hops} onChange={(event) => replaceOptions({ hops: event.currentTarget.value })}>
            {[1, 2, 3].map((value) => (
              <option key={value}>{value}</option>
            ))}
          </select>
        </label>
      </div>
      {node === '' || run === undefined ? (
        <NoNode run={route.run} />
      ) : (
        <Around {...{ run, node, hops }} key={node} />
      )}
    </>
  );
}

function NoNode({ run }: { readonly run: string }) {
  const { value } = useLoad<{ names: string[] }>(`${runPath(run, 'names')}?limit=8`);
  return (
    <Empty title="Choose a node">
      <p>
        Type the beginning of a name above
        {value === null || value.names.length === 0 ? '.' : ', or take one of these:'}
      </p>
      <ul class="chips">
        {(value?.names ?? []).map((name) => (
          <li key={name}>
            <a href={linkTo('explore', run, { node: name })}>{name}</a>
          </li>
        ))}
      </ul>
    </Empty>
  );
}

interface AroundProps {
  readonly run: RunSummary;
  readonly node: string;
  readonly hops: number;
}

const neighborhoodOf = (run: string, node: string, hops: number): string =>
  `${runPath(run, 'neighborhood')}?${new URLSearchParams({ node, hops: String(hops), limit: '80' })}`;

function Around({ run, node, hops }: AroundProps) {
  const { value: first, error, reload } = useLoad<NamedNeighborhood>(neighborhoodOf(run.name, node, hops));
  const [more, setMore] = useState<readonly NamedNeighborhood[]>([]);
  const [relation, setRelation] = useState<string | null>(null);
  useEffect(() => setMore([]), [first]);
  const graph = useMemo(() => (first === null ? null : merge([first, ...more])), [first, more]);
  const isLinks = run.task === 'LINK_PREDICTION';
  const relations = useMemo(() => outgoing(graph), [graph]);
  const asked = relation ?? relations[0] ?? null;
  const isAsked = isLinks && graph !== null && (asked !== null || !hasRelations(graph));
  const predicted = usePredictions(run.name, isAsked ? { node, relation: asked } : null);
  if (error !== null) return <Failure error={error} retry={reload} />;
  if (graph === null) return <p class="quiet">Reading the edges of {node} …</p>;
  const expand = (name: string): void => {
    get<NamedNeighborhood>(neighborhoodOf(run.name, name, 1)).then((found) =>
      setMore((before) => [...before, found]),
    );
  };
  const drawn = withPredictions(graph, predicted.value ?? [], asked);
  return (
    <div class="explore">
      <div>
        <GraphDrawing
          {...drawn}
          chosen={node}
          onChoose={(name) => replaceOptions({ node: name })}
          onExpand={expand}
        />
        <SaveButtons title={`Around ${node}`} draw={() => drawSvg(drawn, node)} />
      </div>
      <aside>
        {isAsked ? (
          <Predictions
            {...{ run: run.name, node, relations, asked, predicted: predicted.value, error: predicted.error }}
            onRelation={setRelation}
            known={graph}
          />
        ) : null}
        {run.task === 'NODE_CLASSIFICATION' ? (
          <>
            <ClassVerdict run={run.name} node={node} />
            <Why run={run.name} of={`the class of ${node}`} explained={{ node }} />
          </>
        ) : null}
        <Edges graph={graph} run={run.name} />
      </aside>
    </div>
  );
}

interface Asked {
  readonly node: string;
  readonly relation: string | null;
}

/** Asks for the best tails, with those that are edges of some split marked as known. */
function usePredictions(run: string, asked: Asked | null) {
  const key = asked === null ? null : JSON.stringify(asked);
  return useLoad<RankedName[]>(key, async (text, signal) => {
    const { node, relation } = JSON.parse(text) as Asked;
    const question = relation === null ? { head: node } : { head: node, relation };
    const body = { questions: [question], k: 10, includeKnown: true };
    return (await post<{ answers: RankedName[][] }>(modelPath(run, 'rank'), body, signal)).answers[0];
  });
}

/** Returns the relations that the node is the head of, the most frequent first. */
function outgoing(graph: NamedNeighborhood | null): (string | null)[] {
  const counts = new Map<string | null, number>();
  for (const { from, relation } of graph?.edges ?? [])
    if (from === 0) counts.set(relation, (counts.get(relation) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([relation]) => relation);
}

/** Returns whether a question needs a relation; a node without outgoing edges has none to offer. */
const hasRelations = ({ edges }: NamedNeighborhood): boolean =>
  edges.some(({ relation }) => relation !== null);

/** Joins neighbourhoods: each node and edge once. */
function merge(parts: readonly NamedNeighborhood[]): NamedNeighborhood {
  const [{ node }] = parts;
  const nodes: NamedNeighborhood['nodes'][number][] = [];
  const places = new Map<string, number>();
  const edges = new Map<string, NamedNeighborhood['edges'][number]>();
  for (const [i, part] of parts.entries()) {
    for (const one of part.nodes)
      if (!places.has(one.name)) {
        places.set(one.name, nodes.length);
        nodes.push({ ...one, distance: i === 0 ? one.distance : 2 });
      }
    for (const edge of part.edges) {
      const [from, to] = [edge.from, edge.to].map((place) => places.get(part.nodes[place].name) as number);
      edges.set(`${from} ${to} ${edge.relation} ${edge.time}`, { ...edge, from, to });
    }
  }
  const [{ hidden, groups }] = parts;
  return { node, nodes, edges: [...edges.values()], hidden, groups };
}

interface DrawnGraph {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  readonly relations: readonly string[];
  readonly groups: readonly string[];
}

/** Adds predicted edges that are not known, dashed. */
function withPredictions(
  graph: NamedNeighborhood,
  predicted: readonly RankedName[],
  relation: string | null,
): DrawnGraph {
  const nodes: DrawnNode[] = [...graph.nodes];
  const places = new Map(nodes.map(({ name }, i) => [name, i]));
  const relations = [...new Set(graph.edges.map((edge) => edge.relation ?? ''))];
  const edges: DrawnEdge[] = graph.edges.map((edge) => ({ ...edge, relation: edge.relation ?? '' }));
  for (const { name } of predicted.filter(({ known }) => known !== true).slice(0, 5)) {
    if (!places.has(name)) {
      places.set(name, nodes.length);
      nodes.push({ name, distance: 1 });
    }
    edges.push({
      ...{ from: 0, to: places.get(name) as number, relation: relation ?? '', split: 'train', time: null },
      predicted: true,
    });
  }
  return { nodes, edges, relations, groups: graph.groups };
}

interface PredictionsProps {
  readonly run: string;
  readonly node: string;
  readonly relations: readonly (string | null)[];
  readonly asked: string | null;
  readonly predicted: readonly RankedName[] | null;
  readonly error: Error | null;
  readonly known: NamedNeighborhood;
  readonly onRelation: (relation: string | null) => void;
}

function Predictions({ run, node, relations, asked, predicted, error, known, onRelation }: PredictionsProps) {
  return (
    <section>
      <h2>What the model predicts</h2>
      {relations.length > 1 ? (
        <label>
          Relation{' '}
          <select value={asked ?? ''} onChange={(event) => onRelation(event.currentTarget.value)}>
            {relations.map((relation) => (
              <option key={relation} value={relation ?? ''}>
                {relation}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      {error === null ? null : <Failure error={error} />}
      {predicted === null ? null : (
        <table>
          <tbody>
            {predicted.map(({ name, score, probability, known: isKnown }) => (
              <ExplainedRow
                key={`${asked} ${name}`}
                {...{ run, columns: 3 }}
                of={name}
                explained={{
                  edge: { head: node, tail: name, ...(asked === null ? {} : { relation: asked }) },
                }}
              >
                <th scope="row">
                  <a href={linkTo('explore', run, { node: name })}>{name}</a>
                </th>
                <td class="number">
                  {probability === undefined ? score.toFixed(3) : `${(100 * probability).toFixed(0)} %`}
                </td>
                <td>
                  {isKnown ? (
                    <Verdict split={splitOf(known, name, asked)} />
                  ) : (
                    <span class="quiet">not known</span>
                  )}
                </td>
              </ExplainedRow>
            ))}
          </tbody>
        </table>
      )}
      <p>
        <a href={linkTo('ask', run, { head: node, relation: asked ?? undefined })}>
          Ask another question about it
        </a>
      </p>
    </section>
  );
}

/** States whether an answer is right. The split of an edge that is not drawn is unknown: the model may have learned it. */
function Verdict({ split }: { readonly split: string | null }) {
  if (split === null) return <span class="quiet">in the data</span>;
  if (split === 'train') return <span class="quiet">learned from the data</span>;
  return <span class="right">right, held out for {split}</span>;
}

function splitOf({ nodes, edges }: NamedNeighborhood, tail: string, relation: string | null): string | null {
  const found = edges.find(
    (edge) => edge.from === 0 && nodes[edge.to].name === tail && edge.relation === relation,
  );
  return found?.split ?? null;
}

function Edges({ graph, run }: { readonly graph: NamedNeighborhood; readonly run: string }) {
  const own = graph.edges.filter(({ from, to }) => from === 0 || to === 0);
  const name = (i: number) =>
    i === 0 ? (
      graph.node
    ) : (
      <a href={linkTo('explore', run, { node: graph.nodes[i].name })}>{graph.nodes[i].name}</a>
    );
  return (
    <section>
      <h2>{count(graph.nodes[0].degree)} edges</h2>
      {own.length < graph.nodes[0].degree ? (
        <p class="quiet">The picture shows {own.length} of them.</p>
      ) : null}
      <ul class="edges">
        {own.map(({ from, to, relation, split, time }) => (
          <li key={`${from} ${to} ${relation} ${time}`}>
            {name(from)} <em>{relation ?? '→'}</em> {name(to)}
            {split === 'train' ? null : <small> held out for {split}</small>}
            {time === null ? null : <small> {eventTime(time)}</small>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function drawSvg({ nodes, edges, relations }: DrawnGraph, node: string): string {
  const title = `Around ${node}`;
  const chart = graphChart({
    title,
    nodes: nodes as GraphChartNode[],
    edges: edges.map(
      ({ from, to, relation, predicted }): GraphChartEdge => ({
        ...{ from, to, relation: relation === '' ? null : relations.indexOf(relation) },
        ...(predicted === true ? { predicted } : {}),
      }),
    ),
    relations,
  });
  return picture([chart], { title, description: `Edges of ${node}`, columns: 1 });
}
