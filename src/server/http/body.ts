// Reads request bodies up to a limit and checks them before parsing.
//   - callback/http/ limits the size, the nesting depth and the number of members (S26).
//   - `__proto__`, `constructor` and `prototype` are allowed inside users' data and refused in the API's
//        own objects. Nothing is dropped silently (S23, semantics 29).

import { parseJson, type JsonBounds } from "../../callback/http/json-text.ts";
import { readBytes } from "../../callback/http/body-bytes.ts";
import { invalidArgument } from "../../core/checks.ts";
import { Refusal } from "./problems.ts";

export interface BodyLimits extends JsonBounds {
  readonly bodyBytesMax: number;
}

/** Undefined: the request has no body. */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  const read = await readBytes(request, { bytesMax: limits.bodyBytesMax });
  if (read.kind !== "bytes") throw tooLarge(limits);
  if (read.bytes.byteLength === 0) return undefined;
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new Refusal("MEDIA_TYPE_REFUSED");
  const parsed = parseJson(read.bytes, limits);
  refuseReservedKeys(parsed);
  return parsed;
}

/** The API's own objects are the body, its filter and its events. Anything deeper is users' data. */
function refuseReservedKeys(body: unknown): void {
  if (typeof body !== "object" || body === null) return;
  const { filter, events } = body as { readonly filter?: unknown; readonly events?: unknown };
  const listed: readonly unknown[] = Array.isArray(events) ? events : [];
  for (const own of [body, filter, ...listed]) {
    if (typeof own !== "object" || own === null) continue;
    const reserved = RESERVED.find((key) => Object.hasOwn(own, key));
    if (reserved !== undefined)
      throw invalidArgument(`The body has an unknown member "${reserved}".`);
  }
}

const RESERVED = ["__proto__", "constructor", "prototype"];

function tooLarge({ bodyBytesMax }: BodyLimits): Refusal {
  // The server does not read the rest of the body, so it closes the connection after the answer.
  const headers = { Connection: "close" };
  const detail = `The body must have at most ${bodyBytesMax} bytes.`;
  return new Refusal("BODY_TOO_LARGE", detail, headers);
}
