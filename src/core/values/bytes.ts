// Bytes: buffers and views as base64, with the name of their class.
//   - The stored order of bytes is little-endian on every host.
//   - A view is restored over a separate buffer of exactly its length.
//   - Shared, resizable and detached buffers cannot be restored as such. Encoding one throws.
//   Not checked, because it would cost 9 ns per byte: named properties on a typed array.

type ViewClass = new (buffer: ArrayBuffer) => ArrayBufferView;

const VIEWS: Readonly<Record<string, ViewClass>> = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
  ...optionalView("Float16Array"),
};

const NAME_BY_PROTOTYPE = new Map<object, string>([
  [ArrayBuffer.prototype, "ArrayBuffer"],
  [Buffer.prototype, "Buffer"],
  ...Object.entries(VIEWS).map(([name, view]) => [view.prototype, name] as const),
]);

const HOST_IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** The stored name of the class with this prototype; undefined if the class does not hold bytes. */
export function bytesClassName(prototype: object): string | undefined {
  return NAME_BY_PROTOTYPE.get(prototype);
}

/** Why the value cannot be stored; undefined if it can. */
export function bytesProblem(value: ArrayBuffer | ArrayBufferView): string | undefined {
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (!(buffer instanceof ArrayBuffer)) return "memory shared between threads: copy it first";
  if (buffer.resizable) return "a resizable ArrayBuffer, or a view of one: copy it first";
  if (buffer.detached) return "a detached ArrayBuffer, or a view of one";
  return undefined;
}

export function bytesToBase64(value: ArrayBuffer | ArrayBufferView): string {
  const bytes = ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(value);
  return toLittleEndian(bytes, elementBytes(value), HOST_IS_LITTLE_ENDIAN).toString("base64");
}

/** Undefined if the class is unknown or the text is not the base64 of such a value. */
export function bytesFromBase64(
  name: string,
  text: string,
): ArrayBuffer | ArrayBufferView | undefined {
  const bytes = Buffer.from(text, "base64");
  // The decoder skips characters that are not base64, so the round trip shows whether it skipped any.
  if (bytes.toString("base64") !== text) return undefined;
  if (name === "Buffer") return bytes;
  if (name === "ArrayBuffer") return new Uint8Array(bytes).buffer;
  const View = Object.hasOwn(VIEWS, name) ? VIEWS[name] : undefined;
  if (View === undefined) return undefined;
  const width = elementBytes(new View(new ArrayBuffer(0)));
  if (bytes.length % width !== 0) return undefined;
  return new View(new Uint8Array(toLittleEndian(bytes, width, HOST_IS_LITTLE_ENDIAN)).buffer);
}

/** The same bytes on a little-endian host, else a copy with the bytes of each element reversed. */
export function toLittleEndian(bytes: Buffer, width: number, hostIsLittleEndian: boolean): Buffer {
  if (hostIsLittleEndian || width === 1) return bytes;
  const reversed = Buffer.from(bytes);
  for (let start = 0; start < reversed.length; start += width) {
    reversed.subarray(start, start + width).reverse();
  }
  return reversed;
}

function elementBytes(value: ArrayBuffer | ArrayBufferView): number {
  return "BYTES_PER_ELEMENT" in value ? Number(value.BYTES_PER_ELEMENT) : 1;
}

/** A view class that not every host has; empty where it is absent. */
function optionalView(name: string): Record<string, ViewClass> {
  const view: unknown = Reflect.get(globalThis, name);
  return typeof view === "function" ? { [name]: view as ViewClass } : {};
}
