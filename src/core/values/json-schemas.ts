// The JSON Schemas of request inputs, so that a form can be made from them.
//   - A schema that implements Standard JSON Schema has a converter. Schemas of Zod and ArkType have it; for Valibot,
//     `toStandardJsonSchema` adds it.
//   - json-schemas.1: They are a help for readers. A schema that cannot be converted, or that is too long, is left
//     out; it never fails a call. The schema itself still checks every input.

import type { Codec } from "./codec.ts";
import { bytesOver } from "./limits.ts";
import type { StandardSchema } from "./standard-schema.ts";

/** The maximum size of all JSON Schemas of a service, in bytes. */
const SCHEMAS_BYTES_MAX = 16 * 1024;

/** JSON texts by schema; null: there is none. The conversion may take milliseconds. */
const converted = new WeakMap<StandardSchema, string | null>();

/** The JSON Schemas by name, as a codec text. Null: there are none. */
export function encodeJsonSchemas(
  schemas: Iterable<readonly [name: string, schema: StandardSchema | undefined]>,
  codec: Codec,
): string | null {
  const texts: [name: string, text: string][] = [];
  let length = 0;
  for (const [name, schema] of schemas) {
    const text = schema === undefined ? null : jsonSchemaOf(schema);
    if (text === null || length + text.length > SCHEMAS_BYTES_MAX) continue;
    if (bytesOver(text, SCHEMAS_BYTES_MAX - length) > 0) continue;
    length += Buffer.byteLength(text);
    texts.push([name, text]);
  }
  if (texts.length === 0) return null;
  return codec.encode(Object.fromEntries(texts.map(([name, text]) => [name, JSON.parse(text)])));
}

/** The JSON Schema of the schema's input, as JSON. */
function jsonSchemaOf(schema: StandardSchema): string | null {
  const known = converted.get(schema);
  if (known !== undefined) return known;
  const text = convert(schema);
  converted.set(schema, text);
  return text;
}

/** json-schemas.1: Converters throw for parts that JSON Schema does not have, such as dates. */
function convert(schema: StandardSchema): string | null {
  try {
    const json = schema["~standard"].jsonSchema?.input({ target: "draft-2020-12" });
    return typeof json === "object" && json !== null ? JSON.stringify(json) : null;
  } catch {
    return null;
  }
}
