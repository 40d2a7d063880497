// Reads the bytes of a request's body, up to a limit on size and, if one is given, on time.
//   - Never reads more than the limit, whatever Content-Length says (S26).
//   - A body that is not read to its end is cancelled. The caller must close the connection after its answer.

export interface BodyBounds {
  readonly bytesMax: number;
  /** The longest time until the whole body has arrived. Absent: no limit here. */
  readonly ms?: number;
}
export type BodyBytes =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** The body has more bytes than the limit. */
  | { readonly kind: "large" }
  /** The body did not arrive in time. */
  | { readonly kind: "slow" };

export async function readBytes(request: Request, bounds: BodyBounds): Promise<BodyBytes> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > bounds.bytesMax) return { kind: "large" };
  if (request.body === null) return { kind: "bytes", bytes: new Uint8Array() };
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
  const { ms } = bounds;
  if (ms === undefined) return readAll(reader, bounds.bytesMax);
  const { promise, resolve } = Promise.withResolvers<BodyBytes>();
  const timer = setTimeout(() => resolve({ kind: "slow" }), ms);
  timer.unref();
  try {
    const read = await Promise.race([readAll(reader, bounds.bytesMax), promise]);
    if (read.kind === "slow") drop(reader);
    return read;
  } finally {
    clearTimeout(timer);
  }
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  bytesMax: number,
): Promise<BodyBytes> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { kind: "bytes", bytes: Buffer.concat(chunks) };
    length += value.byteLength;
    if (length > bytesMax) {
      drop(reader);
      return { kind: "large" };
    }
    chunks.push(value);
  }
}

/** Does not wait: a peer that sends nothing would delay the answer. */
function drop(reader: ReadableStreamDefaultReader<Uint8Array>): void {
  reader.cancel().catch(() => undefined);
}
