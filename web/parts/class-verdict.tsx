/** The class that a model predicts for a node, and whether it is right. */
import { modelPath, post, runPath, useLoad } from '../lib/api.js';
import { Failure } from './failure.js';

interface Classified {
  readonly answers: readonly { readonly class: string; readonly probabilities: readonly number[] }[];
  readonly classes: readonly string[];
}

interface Truth {
  readonly class: string | null;
  readonly split: string | null;
}

/** Classes that are listed. */
const most = 5;

export function ClassVerdict({ run, node }: { readonly run: string; readonly node: string }) {
  const { value, error } = useLoad<Classified>(`${run} ${node}`, (_, signal) =>
    post(modelPath(run, 'classify'), { names: [node] }, signal),
  );
  const { value: truth } = useLoad<Truth>(`${runPath(run, 'truth')}?${new URLSearchParams({ node })}`);
  if (error !== null) return <Failure error={error} />;
  const [answer] = value?.answers ?? [];
  if (value === null || answer === undefined) return null;
  const rows = answer.probabilities
    .map((probability, i) => ({ name: value.classes[i], probability }))
    .sort((a, b) => b.probability - a.probability)
    .slice(0, most);
  return (
    <section>
      <h2>What the model predicts</h2>
      <table class="answers">
        <tbody>
          {rows.map(({ name, probability }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="bar-cell" aria-hidden="true">
                <span style={{ width: `${Math.max(1, 100 * probability)}%` }} />
              </td>
              <td class="number">{(100 * probability).toFixed(1)} %</td>
            </tr>
          ))}
        </tbody>
      </table>
      {truth === null ? null : <p>{verdict(answer.class, truth)}</p>}
    </section>
  );
}

function verdict(predicted: string, { class: name, split }: Truth) {
  if (name === null) return <span class="quiet">The data have no class for this node.</span>;
  if (split === 'train') return <span class="quiet">The model was trained with its class, {name}.</span>;
  const unseen = 'The model has not seen its class';
  if (name === predicted)
    return (
      <span class="right">
        {unseen}: {name} is right.
      </span>
    );
  return (
    <span class="problem">
      {unseen}: it is {name}.
    </span>
  );
}
