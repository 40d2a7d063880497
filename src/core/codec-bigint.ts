// BigInts as text, in time that grows with their length.
//   BI1. Up to HEX_DIGITS_MAX hexadecimal digits a value is written in decimal, under the tag "~i". A larger one is
//        written in hexadecimal, under "~h": converting a million decimal digits takes half a second each way, and
//        nothing else runs in that time.
//   BI2. Reading checks the form of the text. It does not print the value again to compare.
//   BI3. Decimal texts of any length stay readable: versions before "~h" wrote them. Input from outside is bounded
//        before it gets here (server/given-bounds.ts).

/** Of a value that is still written in decimal. */
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

/** Undefined if no such text is ever written. */
export function bigIntFromDecimal(text: string): bigint | undefined {
  return DECIMAL.test(text) ? BigInt(text) : undefined;
}

/** Undefined if no such text is ever written. */
export function bigIntFromHex(text: string): bigint | undefined {
  if (text.length <= HEX_DIGITS_MAX || !HEXADECIMAL.test(text)) return undefined;
  return text.startsWith("-") ? -BigInt(`0x${text.slice(1)}`) : BigInt(`0x${text}`);
}
