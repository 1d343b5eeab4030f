/**
 * The fields of one line of text, by the rules of delimited.ts, for readers that look at single lines. Quotes depend on the
 * delimiter:
 *
 *   , ; |           a field that starts with a quote ends at its last one, and may hold delimiters and "" for a quote
 *   tab and others  a delimiter always separates; a field in quotes as a whole loses them, any other quote is text
 *
 * So "a b" between tabs is a b, and 5" disk and "text"@en stay what they are.
 */

const quotedDelimiters = [',', ';', '|'];

/** Whether a quoted field may hold the delimiter. */
export function mayQuote(delimiter: string): boolean {
  return quotedDelimiters.includes(delimiter);
}

const quotedStart = /"[^"]*(?:""[^"]*)*"/y;
const quotedWhole = /^"([^"]*(?:""[^"]*)*)"$/;

/** Fields as they are, blanks around them included; a blank as delimiter stands for any run of blanks and tabs. */
export function splitLine(line: string, delimiter: string): string[] {
  if (delimiter === ' ')
    return line
      .trim()
      .split(/[ \t]+/)
      .map(withoutQuotes);
  if (!mayQuote(delimiter)) return line.split(delimiter).map(withoutQuotes);
  const fields: string[] = [];
  for (let from = 0; from <= line.length; ) {
    quotedStart.lastIndex = from;
    const inside = quotedStart.test(line) ? quotedStart.lastIndex : from;
    const found = line.indexOf(delimiter, inside);
    const end = found < 0 ? line.length : found;
    fields.push(withoutQuotes(line.slice(from, end)));
    from = end + delimiter.length;
  }
  return fields;
}

/** A field without quotes around it, if it has them. */
function withoutQuotes(field: string): string {
  return quotedWhole.exec(field)?.[1].replaceAll('""', '"') ?? field;
}

/** A field without blanks and quotes around it. */
export function bareField(field: string): string {
  return withoutQuotes(field.trim()).trim();
}
