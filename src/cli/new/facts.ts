/** The facts of a new project: people, whose team follows from their skills and from the people they know. */

const people = [
  ...['ana', 'bo', 'carl', 'dina', 'emil', 'fay', 'gus', 'hana', 'ivo', 'jana', 'kim', 'leo', 'mia'],
  ...['nils', 'olga', 'pia', 'quin', 'rosa', 'sven', 'tess', 'ugo', 'vera', 'wim', 'xena', 'yann', 'zoe'],
];

const teams: readonly (readonly [team: string, skills: readonly string[]])[] = [
  ['data', ['sql', 'python', 'statistics', 'spark']],
  ['web', ['typescript', 'css', 'react', 'node']],
  ['infra', ['linux', 'go', 'terraform', 'kubernetes']],
  ['design', ['figma', 'drawing', 'typography', 'research']],
];

/** Returns the facts as CSV. The team of zoe is left out: the model is to find it. */
export function factsCsv(): string {
  const facts = people.flatMap((person, i) => {
    const [team, skills] = teams[i % teams.length];
    const first = Math.floor(i / teams.length);
    return [
      ...(person === 'zoe' ? [] : [[person, 'works in', team]]),
      ...[0, 1, 2].map((k) => [person, 'has skill', skills[(first + k) % skills.length]]),
      [person, 'lives in', ['berlin', 'lisbon'][Math.floor(i / 2) % 2]],
      ...[4, 8].map((step) => [person, 'knows', people[(i + step) % people.length]]),
    ];
  });
  return ['head,relation,tail', ...facts.map((fact) => fact.join(',')), ''].join('\n');
}
