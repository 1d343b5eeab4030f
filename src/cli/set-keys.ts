/** Keys of the command line in the text of a commented configuration, whose comments stay where they are. */
import { isDeepStrictEqual } from 'node:util';
import { parse, parseDocument } from 'yaml';
import { parseOverride } from '../train/config/overrides.js';

/** `text` with `--section.key=value` set; the keys are known to be good, since the caller has resolved them. */
export function setKeys(text: string, overrides: readonly string[]): string {
  if (overrides.length === 0) return text;
  const document = parseDocument(text);
  for (const { path, value } of overrides.map(parseOverride)) document.setIn(path, value);
  return aligned(document.toString({ lineWidth: 0 }));
}

/** Where the comments of a template start. */
const commentColumn = 33;

/** Comments at the ends of lines below each other again, which the writer of YAML puts right after the values. */
function aligned(text: string): string {
  const padded = text.replace(
    /^([^\n]*[^\s#][^\n]*?) +(# [^\n]*)$/gm,
    (line, before: string, comment: string) =>
      before.trimStart().startsWith('#')
        ? line
        : `${before.padEnd(commentColumn)}${before.length < commentColumn ? '' : ' '}${comment}`,
  );
  // A # in quotes is part of a value, which blanks would change.
  return isDeepStrictEqual(parse(padded), parse(text)) ? padded : text;
}
