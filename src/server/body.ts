// Bodies: read up to a bound, judged before they are parsed.
//   BO1. A body is not read past its bound, whatever its Content-Length says (S26).
//   BO2. Depth and number of members are counted on the text, so that no parser meets what would hurt it.
//   BO3. `__proto__`, `constructor` and `prototype` are data where users put data and refused where the API has
//        members of its own: nothing is silently left out (S23, semantics 29).

import { PerdureError } from "../core/errors.ts";
import { Refusal } from "./problems.ts";

export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly jsonDepthMax: number;
  readonly jsonMembersMax: number;
}

/** Undefined: the request has no body. */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > limits.bodyBytesMax) throw tooLarge(limits);
  const bytes = await readBytes(request, limits);
  if (bytes.byteLength === 0) return undefined;
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new Refusal("MEDIA_TYPE_REFUSED");
  const text = decode(bytes);
  checkJsonShape(text, limits);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw invalid("The body is not JSON.");
  }
  refuseReservedKeys(parsed);
  return parsed;
}

async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    length += value.byteLength;
    if (length > limits.bodyBytesMax) {
      await reader.cancel();
      throw tooLarge(limits);
    }
    chunks.push(value);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalid("The body is not UTF-8.");
  }
}

/** One pass over the text: strings are skipped, brackets and separators counted. */
function checkJsonShape(text: string, limits: BodyLimits): void {
  let depth = 0;
  let members = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text.charCodeAt(index);
    if (character === QUOTE) index = endOfString(text, index);
    else if (character === OPEN_BRACE || character === OPEN_BRACKET) depth += 1;
    else if (character === CLOSE_BRACE || character === CLOSE_BRACKET) depth -= 1;
    else if (character === COMMA) members += 1;
    if (depth > limits.jsonDepthMax) {
      throw invalid(`The JSON is nested deeper than ${limits.jsonDepthMax} levels.`);
    }
    if (members > limits.jsonMembersMax) {
      throw invalid(`The JSON has more than ${limits.jsonMembersMax} members.`);
    }
  }
}

function endOfString(text: string, open: number): number {
  let index = open + 1;
  while (index < text.length && text.charCodeAt(index) !== QUOTE) {
    index += text.charCodeAt(index) === BACKSLASH ? 2 : 1;
  }
  return index;
}

/** The API's own objects are the body, its filter and its events; what is below is users' data. */
function refuseReservedKeys(body: unknown): void {
  if (typeof body !== "object" || body === null) return;
  const { filter, events } = body as { readonly filter?: unknown; readonly events?: unknown };
  const listed: readonly unknown[] = Array.isArray(events) ? events : [];
  for (const own of [body, filter, ...listed]) {
    if (typeof own !== "object" || own === null) continue;
    const reserved = RESERVED.find((key) => Object.hasOwn(own, key));
    if (reserved !== undefined) throw invalid(`The body has an unknown member "${reserved}".`);
  }
}

const RESERVED = ["__proto__", "constructor", "prototype"];
const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

function tooLarge({ bodyBytesMax }: BodyLimits): Refusal {
  // What is left of the body is not read: the connection ends with the answer.
  const headers = { Connection: "close" };
  return new Refusal("BODY_TOO_LARGE", `The body has more than ${bodyBytesMax} bytes.`, headers);
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
