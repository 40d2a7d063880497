// Bodies of callbacks and webhooks as values: JSON, forms, texts and bytes, by the content type.
//   - An empty body without a content type is undefined: a callback may need no value.
//   - Nothing is dropped silently: a form with a repeated name, or with a file, is refused.

import { invalidArgument } from "../core/checks.ts";
import { decodeText, parseJson, type JsonBounds } from "./http/json-text.ts";

const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data";

/** Throws INVALID_ARGUMENT if the bytes are not what the content type says. */
export async function parseBody(
  bytes: Uint8Array,
  contentType: string | null,
  bounds: JsonBounds,
): Promise<unknown> {
  const type = contentType?.split(";")[0]?.trim().toLowerCase() ?? "";
  const isJson = type === "application/json" || /^[\w.+-]+\/[\w.+-]+\+json$/.test(type);
  if (bytes.byteLength === 0 && (isJson || type === "")) return undefined;
  if (isJson) return parseJson(bytes, bounds);
  if (type === FORM) {
    const fields = [...new URLSearchParams(decodeText(bytes, "utf-8"))];
    return recordOf(fields);
  }
  if (type === MULTIPART) return recordOf(await multipartFields(bytes, contentType ?? ""));
  if (type.startsWith("text/")) return decodeText(bytes, charsetOf(contentType ?? ""));
  return new Uint8Array(bytes);
}

/** A name such as `__proto__` becomes an ordinary member. */
function recordOf(fields: readonly (readonly [name: string, value: string])[]): object {
  const names = new Set<string>();
  for (const [name] of fields) {
    if (names.has(name)) {
      throw invalidArgument(
        `The form must have each name once; "${name.slice(0, 80)}" occurs twice.`,
      );
    }
    names.add(name);
  }
  return Object.fromEntries(fields);
}

async function multipartFields(
  bytes: Uint8Array,
  contentType: string,
): Promise<readonly (readonly [string, string])[]> {
  const response = new Response(new Uint8Array(bytes), {
    headers: { "Content-Type": contentType },
  });
  const form = await response.formData().catch(() => {
    throw invalidArgument("The body must be multipart/form-data with the boundary of its header.");
  });
  return [...form].map(([name, value]) => {
    if (typeof value === "string") return [name, value];
    const shown = name.slice(0, 80);
    throw invalidArgument(`The form must contain no file; "${shown}" is one. Send it as the body.`);
  });
}

function charsetOf(contentType: string): string {
  return /;\s*charset="?([\w.:-]+)"?/i.exec(contentType)?.[1] ?? "utf-8";
}
