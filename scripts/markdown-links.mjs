/**
 * Links and headings of Markdown pages. check-links.mjs verifies them, and the site (docs/site) rewrites the same links and
 * makes the same anchors as forges do.
 */

/** Replaces code and comments by blanks, so that positions stay the same. */
function withoutCode(text) {
  const blank = (found) => found.replace(/[^\n]/g, ' ');
  return text
    .replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1[^\n]*$/gm, blank)
    .replace(/<!--[\s\S]*?-->/g, blank)
    .replace(/(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n)[\s\S])*?(?<!`)\1(?!`)/g, blank);
}

/**
 * Returns the links and images of a page. `start` and `end` are the position of the target in the text.
 * @returns {{ target: string, start: number, end: number, line: number }[]}
 */
export function linksOf(text) {
  const plain = withoutCode(text);
  const found = [...plain.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/dg)];
  const named = [...plain.matchAll(/^ {0,3}\[[^\]]+\]:\s+(\S+)/dgm)];
  const html = [...plain.matchAll(/<(?:a|img)\s[^>]*?(?:href|src)="([^"]+)"/dg)];
  return [...found, ...named, ...html]
    .map(({ 1: target, indices }) => {
      const [start, end] = indices[1];
      return { target, start, end, line: text.slice(0, start).split('\n').length };
    })
    .sort((a, b) => a.start - b.start);
}

/** Whether a target leads away from the checkout. */
export const isExternal = (target) => /^[a-z][a-z0-9+.-]*:|^\/\//i.test(target);

/** Returns the anchor of a heading without markup, as forges make it. */
export function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns the headings of a page: level, and text without markup. */
export function headingsOf(text) {
  const lines = withoutFences(text).split('\n');
  return lines.flatMap((line) => {
    const [, marks, title] = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line) ?? [];
    if (marks === undefined) return [];
    const plain = title
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/(`+)(.*?)\1/g, '$2')
      .replace(/(\*\*|__)(.*?)\1/g, '$2')
      .replace(/\\([\\`*_{}[\]()#+.!<>-])/g, '$1');
    return [{ level: marks.length, title: plain }];
  });
}

const withoutFences = (text) =>
  text.replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1[^\n]*$/gm, (found) => found.replace(/[^\n]/g, ''));

/** Returns the anchors of a page; a repeated heading gets a number, as forges do it. */
export function anchorsOf(text) {
  const counts = new Map();
  const anchors = new Set();
  for (const { title } of headingsOf(text)) {
    const slug = slugOf(title);
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  for (const [, id] of text.matchAll(/<[a-z]+\s[^>]*?(?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}
