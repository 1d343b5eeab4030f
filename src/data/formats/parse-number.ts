/** Numbers in bytes of text, without a string for the usual ones. */

/** Powers of ten that a double holds exactly. */
const powers = Float64Array.from({ length: 23 }, (_, i) => 10 ** i);
const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
/** Digits that a double always holds exactly. */
const exactDigits = 15;

/** The number in bytes from … to − 1; NaN where there is none. Blanks around it do not count. */
export function parseNumber(buffer: Buffer, from: number, to: number): number {
  const negative = from < to && buffer[from] === 45;
  let at = negative ? from + 1 : from;
  let mantissa = 0;
  let digits = 0;
  let point = -1;
  for (; at < to; at++) {
    const digit = buffer[at] - 48;
    if (digit >= 0 && digit <= 9) {
      mantissa = mantissa * 10 + digit;
      digits++;
    } else if (digit === -2 && point < 0) {
      point = digits;
    } else {
      break;
    }
  }
  if (at < to || digits === 0 || digits > exactDigits) return parseDecimal(buffer.toString('utf8', from, to));
  const magnitude = point < 0 ? mantissa : mantissa / powers[digits - point];
  return negative ? -magnitude : magnitude;
}

/** The number in a text; NaN where there is none. */
export function parseDecimal(text: string): number {
  const trimmed = text.trim();
  return decimal.test(trimmed) ? Number(trimmed) : Number.NaN;
}
