/** Why a model gives an answer: what the answer depends on, and how much it does. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { modelPath, post, useLoad } from '../lib/api.js';
import { count, eventTime } from '../lib/format.js';
import { linkTo } from '../lib/router.js';
import type {
  EventExplanation,
  Explanation,
  Fidelity,
  LinkExplanation,
  NamedEdge,
  NodeExplanation,
} from '../lib/types.js';
import { Failure } from './failure.js';

/** The answer to explain: the class of a node, or the score of an edge or event. */
export type Explained =
  | { readonly node: string; readonly class?: string }
  | {
      readonly edge: {
        readonly head: string;
        readonly tail: string;
        readonly relation?: string;
        readonly time?: number;
      };
    };

interface WhyButtonProps {
  /** Names the answer to those who do not see the row. */
  readonly of: string;
  readonly panel: string;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function WhyButton({ of, panel, isOpen, onToggle }: WhyButtonProps) {
  return (
    <button
      type="button"
      class="small"
      aria-expanded={isOpen}
      aria-controls={panel}
      aria-label={`Why ${of}?`}
      onClick={onToggle}
    >
      Why?
    </button>
  );
}

interface ExplainedRowProps {
  readonly run: string;
  readonly of: string;
  readonly explained: Explained;
  /** Cells of the row before the button. */
  readonly children: ComponentChildren;
  readonly columns: number;
}

/** A row of a table with a button that opens the reasons below it. */
export function ExplainedRow({ run, of, explained, children, columns }: ExplainedRowProps) {
  const [isOpen, setOpen] = useState(false);
  const panel = useId();
  return (
    <>
      <tr>
        {children}
        <td>
          <WhyButton {...{ of, panel, isOpen }} onToggle={() => setOpen(!isOpen)} />
        </td>
      </tr>
      <tr id={panel} hidden={!isOpen}>
        <td colSpan={columns + 1}>{isOpen ? <Reasons {...{ run, of, explained }} /> : null}</td>
      </tr>
    </>
  );
}

/** A button that opens the reasons below itself. */
export function Why({ run, of, explained }: Omit<ExplainedRowProps, 'children' | 'columns'>) {
  const [isOpen, setOpen] = useState(false);
  const panel = useId();
  return (
    <>
      <WhyButton {...{ of, panel, isOpen }} onToggle={() => setOpen(!isOpen)} />
      <div id={panel} hidden={!isOpen}>
        {isOpen ? <Reasons {...{ run, of, explained }} /> : null}
      </div>
    </>
  );
}

function Reasons({
  run,
  of,
  explained,
}: {
  readonly run: string;
  readonly of: string;
  readonly explained: Explained;
}) {
  const { value, error, reload } = useLoad<Explanation>(JSON.stringify(explained), (body, signal) =>
    post<Explanation>(modelPath(run, 'explain'), JSON.parse(body), signal),
  );
  return (
    <section class="reasons" aria-label={`Reasons for ${of}`} aria-live="polite" aria-busy={value === null}>
      {error === null ? null : <Failure error={error} retry={reload} />}
      {value === null && error === null ? <p class="quiet">Looking for reasons …</p> : null}
      {value === null ? null : value.kind === 'node' ? (
        <NodeReasons found={value} run={run} />
      ) : value.kind === 'link' ? (
        <LinkReasons found={value} run={run} />
      ) : (
        <EventReasons found={value} />
      )}
    </section>
  );
}

function NodeReasons({ found, run }: { readonly found: NodeExplanation; readonly run: string }) {
  const isMask = found.method === 'mask';
  const total = totalOf(found.edges.length, found.fidelity);
  return (
    <>
      <Weights title={`Edges that speak for ${found.class}`} rows={found.edges} of={total} {...{ isMask }}>
        {(edge) => <EdgeText edge={edge} run={run} />}
      </Weights>
      {isMask ? <Spread rows={found.edges} /> : null}
      <Features rows={found.features} {...{ isMask }} />
      <Worth fidelity={found.fidelity} shown={found.edges.length} what="edges" />
    </>
  );
}

/** A feature has one weight for all nodes: it may be one that the node itself does not have. */
function Features({
  rows,
  isMask,
}: {
  readonly rows: NodeExplanation['features'];
  readonly isMask: boolean;
}) {
  const shown = isMask ? rows.filter(({ weight }) => weight >= noise) : rows;
  if (rows.length === 0) return null;
  return (
    <>
      <Weights title="Features" rows={shown} {...{ isMask }}>
        {({ name }) => name}
      </Weights>
      <p class="quiet">
        {shown.length < rows.length ? `The others weigh less than ${noise}. ` : ''}
        Features count for the node and its neighbourhood together: one of them may be that of a neighbour.
      </p>
    </>
  );
}

function LinkReasons({ found, run }: { readonly found: LinkExplanation; readonly run: string }) {
  const isMask = found.method === 'mask';
  const total = totalOf(found.facts.length, found.fidelity);
  return (
    <>
      {found.paths.length === 0 ? null : (
        <>
          <h3>Paths between them</h3>
          <ul>
            {found.paths.map(({ edges, support, pairs }) => (
              <li key={edges.map(({ head, relation, tail }) => `${head} ${relation} ${tail}`).join(', ')}>
                {edges.map((edge, i) => (
                  <span key={`${edge.head} ${edge.relation} ${edge.tail}`}>
                    {i === 0 ? null : ', '}
                    <EdgeText edge={edge} run={run} />
                  </span>
                ))}{' '}
                <small>
                  {support} of {pairs} such pairs have the relation
                </small>
              </li>
            ))}
          </ul>
        </>
      )}
      <Weights title="Known facts" rows={found.facts} of={total} {...{ isMask }}>
        {(edge) => <EdgeText edge={edge} run={run} />}
      </Weights>
      {isMask ? <Spread rows={found.facts} /> : null}
      <Weights title="Words" rows={found.words ?? []}>
        {({ word, column }) => (
          <>
            {word} <small>{column}</small>
          </>
        )}
      </Weights>
      <Worth fidelity={found.fidelity} shown={found.facts.length} what="facts" />
    </>
  );
}

function EventReasons({ found }: { readonly found: EventExplanation }) {
  return (
    <>
      <Weights title="Past events" rows={found.events} of={totalOf(found.events.length, found.fidelity)}>
        {({ head, tail, time }) => (
          <>
            {head} <em>→</em> {tail} <small>{eventTime(time)}</small>
          </>
        )}
      </Weights>
      <Worth fidelity={found.fidelity} shown={found.events.length} what="events" />
    </>
  );
}

interface WeightsProps<T> {
  readonly title: string;
  readonly rows: readonly T[];
  /** How many there are, of which the rows are some. */
  readonly of?: number;
  /** Whether weights are masks between 0 and 1, so that a full bar is 1. Others are compared with the largest. */
  readonly isMask?: boolean;
  readonly children: (row: T) => ComponentChildren;
}

interface Weighted {
  readonly weight: number;
}

function Weights<T extends Weighted>({ title, rows, of, isMask = false, children }: WeightsProps<T>) {
  if (rows.length === 0) return null;
  const most = isMask ? 1 : Math.max(...rows.map(({ weight }) => Math.abs(weight)), 1e-12);
  return (
    <table>
      <caption>
        {title}
        {of === undefined ? null : <small> {`${count(rows.length)} of ${count(of)}`}</small>}
      </caption>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            <th scope="row">{children(row)}</th>
            <td class="bar-cell" aria-hidden="true">
              <span
                style={{ width: `${Math.max(1, (100 * Math.abs(row.weight)) / most)}%` }}
                class={row.weight < 0 ? 'minus' : ''}
              />
            </td>
            <td class="number">{isMask ? row.weight.toFixed(3) : row.weight.toPrecision(3)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Masks of features below this are left of the random start. */
const noise = 0.05;

/** Masks below this are so small that no edge alone decides. */
const decisive = 0.1;

/** Says that the answer depends on many edges a little, if it does. */
function Spread({ rows }: { readonly rows: readonly Weighted[] }) {
  const most = Math.max(...rows.map(({ weight }) => weight));
  if (rows.length === 0 || most >= decisive) return null;
  return (
    <p>
      No single edge decides: the largest weight is {most < 0.001 ? 'below 0.001' : most.toFixed(3)}, and 1
      would be an edge that the answer depends on wholly.
    </p>
  );
}

/** Returns how many edges, facts or events there are: reasons are the share that sparsity does not leave out. */
const totalOf = (shown: number, { sparsity }: Fidelity): number =>
  sparsity < 1 ? Math.max(shown, Math.round(shown / (1 - sparsity))) : shown;

function EdgeText({ edge, run }: { readonly edge: NamedEdge; readonly run: string }) {
  const name = (node: string) => <a href={linkTo('explore', run, { node })}>{node}</a>;
  return (
    <>
      {name(edge.head)} <em>{edge.relation ?? '→'}</em> {name(edge.tail)}
    </>
  );
}

interface WorthProps {
  readonly fidelity: Fidelity;
  /** Number of reasons. */
  readonly shown: number;
  readonly what: string;
}

/** States how much the answer depends on the reasons. */
function Worth({ fidelity, shown, what }: WorthProps) {
  const { plus, minus, sparsity, unit } = fidelity;
  if (shown === 0) return <p>No known {what} to explain it by.</p>;
  const total = totalOf(shown, fidelity);
  return (
    <p class="quiet">
      Without these {what} the {unit} {change(plus, unit)} (fidelity⁺); with them alone it{' '}
      {change(minus, unit)} (fidelity⁻).{' '}
      {sparsity === 0
        ? `They are all ${what} that the answer can depend on.`
        : `They are ${count(shown)} of ${count(total)} ${what}; ${leftOut(sparsity)} of them are left out.`}
    </p>
  );
}

/** States a loss of the answer; a negative one is a rise. */
function change(loss: number, unit: Fidelity['unit']): string {
  const isProbability = unit === 'probability';
  const amount = isProbability ? (100 * Math.abs(loss)).toFixed(1) : Math.abs(loss).toFixed(3);
  if (Number(amount) === 0) return 'does not change';
  return `${loss < 0 ? 'rises' : 'falls'} by ${amount}${isProbability ? ' percentage points' : ''}`;
}

/** Some reasons are always left: a share below all of them must not be rounded to it. */
function leftOut(sparsity: number): string {
  const share = (100 * sparsity).toFixed(1);
  return share === '100.0' ? 'more than 99.9 %' : `${share} %`;
}
