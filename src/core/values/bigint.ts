// BigInts as text. Encoding and decoding take linear time.
//   - A value of up to HEX_DIGITS_MAX hexadecimal digits is written in decimal, with the tag "~i". A larger
//        value is written in hexadecimal, with the tag "~h": converting a million decimal digits would block
//        the event loop for half a second, in each direction.
//   - Decoding checks the form of the text. It does not format the value again to compare the texts.
//   - Decimal texts of any length stay readable, because versions before "~h" wrote them. The HTTP server
//        bounds values from outside before it decodes them (server/http/value-bounds.ts).

/** The most hexadecimal digits of a value that is written in decimal. */
const HEX_DIGITS_MAX = 1_024;
const SMALL = 1n << 64n;

const DECIMAL = /^(?:0|-?[1-9][0-9]*)$/;
const HEXADECIMAL = /^-?[1-9a-f][0-9a-f]*$/;

/** The tag and its text. */
export function bigIntTag(value: bigint): readonly [tag: string, text: string] {
  if (value > -SMALL && value < SMALL) return ["~i", String(value)];
  const digits = value.toString(16);
  return digits.length > HEX_DIGITS_MAX ? ["~h", digits] : ["~i", String(value)];
}

/** Undefined if `bigIntTag` never writes such a text. */
export function bigIntFromDecimal(text: string): bigint | undefined {
  return DECIMAL.test(text) ? BigInt(text) : undefined;
}

/** Undefined if `bigIntTag` never writes such a text. */
export function bigIntFromHex(text: string): bigint | undefined {
  if (text.length <= HEX_DIGITS_MAX || !HEXADECIMAL.test(text)) return undefined;
  return text.startsWith("-") ? -BigInt(`0x${text.slice(1)}`) : BigInt(`0x${text}`);
}
