// Reads request bodies up to a limit and checks them before parsing.
//   - The server never reads more than the limit, whatever Content-Length says (S26).
//   - Nesting depth and number of members are counted in the text, before JSON.parse sees it.
//   - `__proto__`, `constructor` and `prototype` are allowed inside users' data and refused in the API's
//        own objects. Nothing is dropped silently (S23, semantics 29).

import { Refusal } from "./problems.ts";
import { invalidArgument } from "../../core/checks.ts";

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
    throw invalidArgument("The body must be JSON.");
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
    throw invalidArgument("The body must be UTF-8.");
  }
}

/** Scans the text once: skips strings, counts brackets and commas. */
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
      throw invalidArgument(`The JSON is nested deeper than ${limits.jsonDepthMax} levels.`);
    }
    if (members > limits.jsonMembersMax) {
      throw invalidArgument(`The JSON has more than ${limits.jsonMembersMax} members.`);
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
const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

function tooLarge({ bodyBytesMax }: BodyLimits): Refusal {
  // The server does not read the rest of the body, so it closes the connection after the answer.
  const headers = { Connection: "close" };
  const detail = `The body must have at most ${bodyBytesMax} bytes.`;
  return new Refusal("BODY_TOO_LARGE", detail, headers);
}
