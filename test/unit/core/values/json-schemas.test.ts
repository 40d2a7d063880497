// JSON Schemas of request inputs: which schemas have one, and which are left out.

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { expect, test } from "vitest";
import { defaultCodec } from "../../../../src/core/values/codec.ts";
import { encodeJsonSchemas } from "../../../../src/core/values/json-schemas.ts";
import type { StandardSchema } from "../../../../src/core/values/standard-schema.ts";

type Schemas = Parameters<typeof encodeJsonSchemas>[0];

function schemasOf(schemas: Schemas): unknown {
  const text = encodeJsonSchemas(schemas, defaultCodec);
  return text === null ? null : defaultCodec.decode(text);
}

/** A schema whose JSON Schema is this value. */
function describedBy(input: () => unknown): StandardSchema {
  const validate = (value: unknown): { value: unknown } => ({ value });
  return { "~standard": { version: 1, vendor: "test", validate, jsonSchema: { input } } };
}

test("a schema that implements Standard JSON Schema is described by its input", () => {
  const schema = toStandardJsonSchema(v.object({ sku: v.string(), note: v.optional(v.string()) }));
  expect(schemasOf([["add", schema]])).toEqual({
    add: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { sku: { type: "string" }, note: { type: "string" } },
      required: ["sku"],
    },
  });
});

test("requests without a schema, and schemas without a converter, are left out", () => {
  expect(
    schemasOf([
      ["clear", undefined],
      ["add", v.string()],
    ]),
  ).toBeNull();
});

test("a schema that cannot be converted is left out, and the others are kept", () => {
  const dated = toStandardJsonSchema(v.object({ at: v.date() }));
  const endless: Record<string, unknown> = {};
  endless["self"] = endless;
  expect(
    schemasOf([
      ["at", dated],
      ["endless", describedBy(() => endless)],
      ["text", describedBy(() => "not an object")],
      ["any", describedBy(() => ({ description: "any value" }))],
    ]),
  ).toEqual({ any: { description: "any value" } });
});

test("a schema is converted once", () => {
  let calls = 0;
  const schema = describedBy(() => ({ minimum: ++calls }));
  for (let i = 0; i < 3; i++) expect(schemasOf([["add", schema]])).toEqual({ add: { minimum: 1 } });
});

test("all JSON Schemas of a service take at most 16 KiB; those that do not fit are left out", () => {
  const long = (chars: number): StandardSchema =>
    describedBy(() => ({ description: "é".repeat(chars) }));
  const names = Object.keys(
    schemasOf([
      ["half", long(4_000)],
      ["too long", long(8_000)],
      ["other half", long(4_000)],
      ["short", long(10)],
    ]) as object,
  );
  expect(names).toEqual(["half", "other half", "short"]);
});
