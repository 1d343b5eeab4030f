/** Sets keys in the text of a commented configuration and keeps its comments. */
import { isDeepStrictEqual } from 'node:util';
import { parse, parseDocument } from 'yaml';
import { parseOverride } from '../../train/config/overrides.js';

/** Returns `text` with each `section.key=value` set. The caller has validated the keys. */
export function setKeys(text: string, overrides: readonly string[]): string {
  if (overrides.length === 0) return text;
  const document = parseDocument(text);
  for (const { path, value } of overrides.map(parseOverride)) document.setIn(path, value);
  return alignComments(document.toString({ lineWidth: 0 }));
}

/** Column at which the comments of a template start. */
const commentColumn = 33;

/** Aligns trailing comments again, which the YAML writer puts right after the values. */
function alignComments(text: string): string {
  const padded = text.replace(
    /^([^\n]*[^\s#][^\n]*?) +(# [^\n]*)$/gm,
    (line, before: string, comment: string) =>
      before.trimStart().startsWith('#')
        ? line
        : `${before.padEnd(commentColumn)}${before.length < commentColumn ? '' : ' '}${comment}`,
  );
  // A # in quotes belongs to a value, which padding would change.
  return isDeepStrictEqual(parse(padded), parse(text)) ? padded : text;
}
