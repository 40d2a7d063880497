// Wire: the bytes of one pipeline, as messages of PostgreSQL's protocol, in one buffer.
//   - Values are written straight into the buffer: a payload is encoded once and not copied again before the
//       socket takes it.
//   - A connection keeps its buffer for the next pipeline, because the server has read all bytes of a
//       pipeline when it answers. A buffer larger than KEPT_BYTES is not kept (I12).

/** A value that writes itself. */
export interface WireValue {
  /** Writes the value, without its length. Returns whether the value is in binary format. */
  writeTo(wire: Wire): boolean;
  /** The value in text format, for drivers that send only text. */
  toLiteral(): string;
}

const FIRST_BYTES = 16_384;
const KEPT_BYTES = 4_194_304;
/** One character of a string is at most three bytes of UTF-8. */
const CHAR_BYTES = 3;
/** Up to this length, a loop writes ASCII faster than a call into Node does. */
const SHORT_CHARS = 32;
const ASCII_MAX = 0x7f;
const HALF = 2 ** 32;
const NULL_LENGTH = -1;
const TEXT_FORMAT = 0;
const BINARY_FORMAT = 1;

const code = (letter: string): number => letter.charCodeAt(0);
const PARSE = code("P");
const BIND = code("B");
const DESCRIBE = code("D");
const EXECUTE = code("E");
const CLOSE = code("C");
const PORTAL = code("P");
const STATEMENT = code("S");

export class Wire {
  #buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #view = viewOf(this.#buffer);
  #at = 0;

  /** Forgets what was written. Call it only if the server has answered the previous pipeline. */
  reset(): void {
    if (this.#buffer.length > KEPT_BYTES) this.#replace(FIRST_BYTES);
    this.#at = 0;
  }

  /** What was written since `reset`. Valid until the next `reset`. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  // ── messages
  // ───────────────────────────────────────────────────────────────────────────────────────────────

  /** PostgreSQL infers the types of the parameters. */
  parse(name: string, text: string): void {
    const start = this.#begin(PARSE);
    this.#cString(name);
    this.#cString(text);
    this.#int16(0);
    this.#end(start);
  }

  /** Rows come back as text. */
  bind(statement: string, values: readonly (string | WireValue | null)[]): void {
    const start = this.#begin(BIND);
    this.#cString(""); // the unnamed portal
    this.#cString(statement);
    this.#int16(values.length);
    const formats = this.#at;
    for (let i = 0; i < values.length; i++) this.#int16(TEXT_FORMAT);
    this.#int16(values.length);
    for (const [index, value] of values.entries()) {
      if (this.#value(value)) this.#view.setInt16(formats + 2 * index, BINARY_FORMAT);
    }
    this.#int16(0);
    this.#end(start);
  }

  describePortal(): void {
    const start = this.#begin(DESCRIBE);
    this.byte(PORTAL);
    this.#cString("");
    this.#end(start);
  }

  /** All rows of the portal. */
  execute(): void {
    const start = this.#begin(EXECUTE);
    this.#cString("");
    this.int32(0);
    this.#end(start);
  }

  closeStatement(name: string): void {
    const start = this.#begin(CLOSE);
    this.byte(STATEMENT);
    this.#cString(name);
    this.#end(start);
  }

  // ── values
  // ─────────────────────────────────────────────────────────────────────────────────────────────────

  byte(value: number): void {
    this.#ensure(1);
    this.#buffer[this.#at++] = value;
  }

  int32(value: number): void {
    this.#ensure(4);
    this.#view.setInt32(this.#at, value);
    this.#at += 4;
  }

  /** A whole number of up to 53 bits, as eight bytes. */
  int64(value: number): void {
    this.#ensure(8);
    this.#view.setInt32(this.#at, Math.floor(value / HALF));
    this.#view.setUint32(this.#at + 4, value >>> 0);
    this.#at += 8;
  }

  float64(value: number): void {
    this.#ensure(8);
    this.#view.setFloat64(this.#at, value);
    this.#at += 8;
  }

  /** A text with its length in front. */
  text(value: string): void {
    this.int32(0);
    const start = this.#at;
    this.string(value);
    this.#view.setInt32(start - 4, this.#at - start);
  }

  /** A text without its length. */
  string(value: string): void {
    const { length } = value;
    if (length * CHAR_BYTES > this.#buffer.length - this.#at) {
      this.#ensure(length > SHORT_CHARS ? Buffer.byteLength(value) : length * CHAR_BYTES);
    }
    const start = this.#at;
    if (length <= SHORT_CHARS) {
      let at = start;
      for (; at < start + length; at++) {
        const char = value.charCodeAt(at - start);
        if (char > ASCII_MAX) break;
        this.#buffer[at] = char;
      }
      if (at === start + length) {
        this.#at = at;
        return;
      }
    }
    this.#at = start + this.#buffer.write(value, start);
  }

  /** The number of bytes written so far. `rewind` returns to it. */
  get position(): number {
    return this.#at;
  }

  rewind(position: number): void {
    this.#at = position;
  }

  /** Overwrites four bytes. */
  setInt32(position: number, value: number): void {
    this.#view.setInt32(position, value);
  }

  /** Writes a value with its length. Returns whether it is in binary format. */
  #value(value: string | WireValue | null): boolean {
    if (value === null) {
      this.int32(NULL_LENGTH);
      return false;
    }
    if (typeof value === "string") {
      this.text(value);
      return false;
    }
    this.int32(0);
    const start = this.#at;
    const isBinary = value.writeTo(this);
    this.#view.setInt32(start - 4, this.#at - start);
    return isBinary;
  }

  /** Begins a message. Returns the position of its length. */
  #begin(type: number): number {
    this.byte(type);
    this.int32(0);
    return this.#at - 4;
  }

  #end(start: number): void {
    this.#view.setInt32(start, this.#at - start);
  }

  #int16(value: number): void {
    this.#ensure(2);
    this.#view.setInt16(this.#at, value);
    this.#at += 2;
  }

  #cString(value: string): void {
    this.string(value);
    this.byte(0);
  }

  #ensure(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#buffer.length) return;
    const old = this.#buffer;
    this.#replace(Math.max(2 * old.length, needed));
    old.copy(this.#buffer, 0, 0, this.#at);
  }

  #replace(bytes: number): void {
    this.#buffer = Buffer.allocUnsafeSlow(bytes);
    this.#view = viewOf(this.#buffer);
  }
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}
