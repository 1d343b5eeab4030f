/**
 * Splits one line of text by the rules of delimited.ts, for readers of single lines. Quotes depend on the delimiter:
 *
 *   , ; |           a field that starts with a quote ends at its closing quote, and may hold delimiters and "" for a quote
 *   tab and others  a delimiter always separates; quotes around a whole field are removed, any other quote is text
 *
 * So "a b" between tabs is a b, and 5" disk and "text"@en are unchanged.
 */

const quotedDelimiters = [',', ';', '|'];

/** Returns whether a quoted field may hold the delimiter. */
export function mayQuote(delimiter: string): boolean {
  return quotedDelimiters.includes(delimiter);
}

const quotedStart = /"[^"]*(?:""[^"]*)*"/y;
const quotedWhole = /^"([^"]*(?:""[^"]*)*)"$/;

/** Returns the fields with the blanks around them; a blank as delimiter means any run of blanks and tabs. */
export function splitLine(line: string, delimiter: string): string[] {
  if (delimiter === ' ')
    return line
      .trim()
      .split(/[ \t]+/)
      .map(stripQuotes);
  if (!mayQuote(delimiter)) return line.split(delimiter).map(stripQuotes);
  const fields: string[] = [];
  for (let from = 0; from <= line.length; ) {
    quotedStart.lastIndex = from;
    const inside = quotedStart.test(line) ? quotedStart.lastIndex : from;
    const found = line.indexOf(delimiter, inside);
    const end = found < 0 ? line.length : found;
    fields.push(stripQuotes(line.slice(from, end)));
    from = end + delimiter.length;
  }
  return fields;
}

/** Removes the quotes around a field, if it has them. */
function stripQuotes(field: string): string {
  return quotedWhole.exec(field)?.[1].replaceAll('""', '"') ?? field;
}

/** Removes blanks and quotes around a field. */
export function bareField(field: string): string {
  return stripQuotes(field.trim()).trim();
}
