/** A node and the edges around it: known ones, predicted ones and held-out ones. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { GraphChartEdge, GraphChartNode } from '../../src/plot/index.js';
import { graphChart, picture } from '../../src/plot/index.js';
import type { ViewProps } from '../app.js';
import { get, runPath, useLoad } from '../lib/api.js';
import { count, eventTime } from '../lib/format.js';
import { linkTo, replaceOptions } from '../lib/router.js';
import type { NamedNeighborhood, RankedName, RunSummary } from '../lib/types.js';
import { ClassVerdict } from '../parts/class-verdict.js';
import { Empty, Failure } from '../parts/failure.js';
import { type DrawnEdge, type DrawnNode, GraphDrawing } from '../parts/graph-drawing.js';
import { NameInput } from '../parts/name-input.js';
import {
  type Kept,
  keep,
  Predictions,
  relationsOf,
  usePredictions,
  useRelations,
} from '../parts/predictions.js';
import { Why } from '../parts/reasons.js';
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
  const [kept, setKept] = useState<Kept>('all');
  const isLinks = run.task === 'LINK_PREDICTION';
  const known = useRelations(isLinks ? run.name : null);
  const relations = useMemo(() => relationsOf(graph, known ?? []), [graph, known]);
  const asked = relation ?? relations[0]?.name ?? null;
  // Without the names it is not known whether the question needs a relation.
  const isAsked = isLinks && graph !== null && known !== null;
  const answers = usePredictions(run.name, isAsked ? { node, relation: asked, kept } : null);
  const predicted = useMemo(
    () => (graph === null ? null : keep(answers.value, kept, graph, asked)),
    [answers.value, kept, graph, asked],
  );
  if (error !== null) return <Failure error={error} retry={reload} />;
  if (graph === null) return <p class="quiet">Reading the edges of {node} …</p>;
  const expand = (name: string): void => {
    get<NamedNeighborhood>(neighborhoodOf(run.name, name, 1)).then((found) =>
      setMore((before) => [...before, found]),
    );
  };
  const drawn = withPredictions(graph, predicted ?? [], asked);
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
            {...{ run: run.name, node, relations, asked, kept, predicted, error: answers.error }}
            onRelation={setRelation}
            onKeep={setKept}
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
      ) : graph.hidden > 0 ? (
        <p class="quiet">
          The picture has no room for {count(graph.hidden)} further edges of their neighbours. Add those of a
          node by a right-click or E.
        </p>
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
    // The picture has it.
    title: '',
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
