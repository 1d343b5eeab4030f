/** What a model of links predicts for a node, with a choice of the relation and of the answers. */
import { modelPath, post, runPath, useLoad } from '../lib/api.js';
import { count } from '../lib/format.js';
import { linkTo } from '../lib/router.js';
import type { NamedNeighborhood, RankedName } from '../lib/types.js';
import { Failure } from './failure.js';
import { NameInput } from './name-input.js';
import { ExplainedRow } from './reasons.js';

/** Which answers are shown: all, those that are no edges yet, or those whose edges were held out. */
export type Kept = 'all' | 'new' | 'held out';

interface Asked {
  readonly node: string;
  readonly relation: string | null;
  readonly kept: Kept;
}

/** Answers that are shown, and those among which held-out edges are looked for. */
const mostAnswers = 10;
const mostSearched = 100;

/** Asks for the best tails, with those that are edges of some split marked as known. */
export function usePredictions(run: string, asked: Asked | null) {
  const key = asked === null ? null : JSON.stringify(asked);
  return useLoad<RankedName[]>(key, async (text, signal) => {
    const { node, relation, kept } = JSON.parse(text) as Asked;
    const question = relation === null ? { head: node } : { head: node, relation };
    const k = kept === 'held out' ? mostSearched : mostAnswers;
    const body = { questions: [question], k, includeKnown: kept !== 'new' };
    return (await post<{ answers: RankedName[][] }>(modelPath(run, 'rank'), body, signal)).answers[0];
  });
}

/** Returns the answers that are wanted; null while they are unknown. */
export function keep(
  answers: readonly RankedName[] | null,
  kept: Kept,
  graph: NamedNeighborhood,
  relation: string | null,
): readonly RankedName[] | null {
  if (answers === null || kept !== 'held out') return answers;
  const isHeldOut = ({ name }: RankedName): boolean => {
    const split = splitOf(graph, name, relation);
    return split !== null && split !== 'train';
  };
  return answers.filter(isHeldOut).slice(0, mostAnswers);
}

/** Returns relations of the graph, as many as the server names at once; null until they have come. */
export function useRelations(run: string | null): readonly string[] | null {
  const { value, error } = useLoad<{ names: string[] }>(
    run === null ? null : `${runPath(run, 'names')}?of=relations&limit=${mostRelations}`,
  );
  return value?.names ?? (error === null ? null : []);
}

const mostRelations = 100;

/** A relation to ask about, and how many drawn edges of the node have it. */
interface OfferedRelation {
  readonly name: string;
  readonly edges: number;
}

/** Returns the relations of the graph, those that the node is the head of first, the most frequent one before others. */
export function relationsOf(graph: NamedNeighborhood | null, known: readonly string[]): OfferedRelation[] {
  const counts = new Map(known.map((name) => [name, 0]));
  for (const { from, relation } of graph?.edges ?? [])
    if (from === 0 && relation !== null) counts.set(relation, (counts.get(relation) ?? 0) + 1);
  return [...counts].map(([name, edges]) => ({ name, edges })).sort((a, b) => b.edges - a.edges);
}

interface PredictionsProps {
  readonly run: string;
  readonly node: string;
  readonly relations: readonly OfferedRelation[];
  readonly kept: Kept;
  readonly asked: string | null;
  readonly predicted: readonly RankedName[] | null;
  readonly error: Error | null;
  readonly known: NamedNeighborhood;
  readonly onRelation: (relation: string) => void;
  readonly onKeep: (kept: Kept) => void;
}

export function Predictions(props: PredictionsProps) {
  const { run, node, asked, kept, predicted, error, known } = props;
  return (
    <section>
      <h2>What the model predicts</h2>
      {known.edges.some(({ from }) => from === 0) ? null : (
        <p class="quiet">
          {node} is the head of no edge {isWhole(known) ? 'in the data' : 'in the picture'}. The model ranks
          answers all the same, from the edges that lead to it.
        </p>
      )}
      <PredictionChoices {...props} />
      {error === null ? null : <Failure error={error} />}
      {predicted?.length === 0 ? (
        <p class="quiet">
          {kept === 'held out'
            ? `No edge in the picture that was held out is among the first ${mostSearched} answers.`
            : 'No answer: every candidate is a known edge.'}
        </p>
      ) : null}
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

function PredictionChoices({ run, relations, asked, kept, onRelation, onKeep }: PredictionsProps) {
  return (
    <div class="controls">
      {relations.length >= mostRelations ? (
        <NameInput run={run} of="relations" label="Relation" value={asked ?? ''} onChoose={onRelation} />
      ) : relations.length > 1 ? (
        <label>
          Relation{' '}
          <select value={asked ?? ''} onChange={(event) => onRelation(event.currentTarget.value)}>
            {relations.map(({ name, edges }) => (
              <option key={name} value={name}>
                {edges === 0 ? name : `${name} (${count(edges)})`}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      <label>
        Answers{' '}
        <select value={kept} onChange={(event) => onKeep(event.currentTarget.value as Kept)}>
          {(['all', 'new', 'held out'] as const).map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** Whether all edges of the node are in the picture. */
function isWhole({ nodes, edges }: NamedNeighborhood): boolean {
  return edges.filter(({ from, to }) => from === 0 || to === 0).length >= nodes[0].degree;
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
