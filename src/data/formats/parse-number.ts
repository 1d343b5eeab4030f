/** Parses numbers from bytes of text, without a string for plain decimals. */

/** Powers of ten that a double represents exactly. */
const powers = Float64Array.from({ length: 23 }, (_, i) => 10 ** i);
const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
/** Digits that a double always represents exactly. */
const exactDigits = 15;

/** Position at which a scan ended. */
export interface NumberEnd {
  at: number;
}

/**
 * Parses the plain decimal number that starts at `from`: up to 15 digits with a sign and a point, exact with one division;
 * returns NaN for any other. Sets `end` to the position of the first byte after it, at most `to`.
 */
export function scanNumber(buffer: Uint8Array, from: number, to: number, end: NumberEnd): number {
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
  end.at = at;
  if (digits === 0 || digits > exactDigits) return Number.NaN;
  const magnitude = point < 0 ? mantissa : mantissa / powers[digits - point];
  return negative ? -magnitude : magnitude;
}

const scanned: NumberEnd = { at: 0 };

/** Parses the number in bytes from … to − 1; returns NaN if it is not one. Blanks around it are ignored. */
export function parseNumber(buffer: Buffer, from: number, to: number): number {
  const value = scanNumber(buffer, from, to, scanned);
  return scanned.at < to || Number.isNaN(value) ? parseDecimal(buffer.toString('utf8', from, to)) : value;
}

/** Parses a number; returns NaN if the text is not one. */
export function parseDecimal(text: string): number {
  const trimmed = text.trim();
  return decimal.test(trimmed) ? Number(trimmed) : Number.NaN;
}

/** Parses an id of at most ten digits; returns −1 if it is not one. */
export function parseId(bytes: Uint8Array, start: number, end: number): number {
  if (start === end || end - start > 10) return -1;
  let id = 0;
  for (let i = start; i < end; i++) {
    if (bytes[i] < 48 || bytes[i] > 57) return -1;
    id = id * 10 + bytes[i] - 48;
  }
  return id;
}
