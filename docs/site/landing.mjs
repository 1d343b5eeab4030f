/** The start page: what Skein is, three programs of README.md in tabs, and where to go next. */

const cards = [
  ['Links', 'Which edge is missing? Knowledge graphs, catalogues, recommendations.', '/guides/links'],
  ['Nodes', 'Which class does a node belong to? Segments, topics, fraud.', '/guides/nodes'],
  ['Events', 'What happens next? Streams that are learned, served and survive a kill.', '/guides/events'],
  ['Larger than memory', 'Give a budget. Tables stay on disk, in partitions.', '/guides/larger-than-memory'],
  ['Several workers', 'One model on many processes, with the results of one.', '/guides/workers'],
  ['GPU and browser', 'WebGPU in Node.js and in web pages, in the same code.', '/guides/gpu'],
  [
    'Coming from elsewhere',
    'PyG, DGL, Marius, TGL, StarryGL and SAR: programs side by side.',
    '/migration/',
    'Migrate',
  ],
  ['Short answers', 'Recipes with code that runs, and what a message means.', '/recipes', 'Recipes'],
  ['Measured', 'Figures with the commands that repeat them, and our limits.', '/benchmarks', 'Benchmarks'],
];

const quoted = (text) => JSON.stringify(text);

/** Returns the programs of README.md below the headings "Links: …", "Nodes: …" and "Events: …". */
function programs(readme) {
  const found = [...readme.matchAll(/^## (Links|Nodes|Events): .*\n\n```ts\n([\s\S]*?)^```/gm)];
  if (found.length !== 3) throw new Error(`site: expected three programs in README.md, got ${found.length}`);
  return found.map(([, name, code]) => `\`\`\`ts [${name}]\n${code}\`\`\``).join('\n\n');
}

export function landingPage(readme) {
  const features = cards.map(
    ([title, details, link, text = 'Guide']) =>
      `  - title: ${title}\n    details: ${quoted(details)}\n    link: ${link}\n    linkText: ${text}`,
  );
  return `---
layout: home
hero:
  name: Skein
  text: Graph learning for TypeScript
  tagline: Train knowledge-graph embeddings, graph neural networks and models of event streams, and query the trained models with your own names.
  image: { src: /icon.svg, alt: Skein }
  actions:
    - { theme: brand, text: Start in five minutes, link: /start }
    - { theme: alt, text: Guides, link: /contents }
    - { theme: alt, text: API, link: /api/ }
features:
${features.join('\n')}
---

::: code-group

${programs(readme)}

:::

\`\`\`sh
npm install skein
\`\`\`

No Python, no compiler, no server to set up. The same seed gives the same bits, for any number of threads and after a kill.
[All pages](./contents.md), [API reference](./api/index.md), [comparison](./comparison.md) with other systems.
`;
}
