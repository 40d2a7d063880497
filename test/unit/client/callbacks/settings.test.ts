// The settings of callbacks are checked when a client or a runtime is created.

import { expect, test } from "vitest";
import { resolveCallbacks } from "../../../../src/client/callbacks/settings.ts";
import { CallbackSchemas } from "../../../../src/client/callbacks/schemas.ts";
import type { CallbackSettings, StandardSchema } from "../../../../src/index.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const baseUrl = "https://example.com/callbacks";

function refusal(settings: unknown): string {
  try {
    resolveCallbacks(settings as CallbackSettings);
    return "accepted";
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    expect(message).not.toContain(SECRET);
    return `${code}: ${message}`;
  }
}

test("texts and bytes of at least 32 bytes are secrets", () => {
  const { secrets } = resolveCallbacks({ secrets: [SECRET, Buffer.alloc(32, 1)], baseUrl });
  expect(secrets.map(({ length }) => length)).toEqual([32, 32]);
  const bytes = new Uint8Array(32);
  const { secrets: copies } = resolveCallbacks({ secrets: [bytes], baseUrl });
  bytes.fill(7); // the settings keep a copy
  expect(copies[0]?.[0]).toBe(0);
});

test("wrong secrets are refused without naming them", () => {
  const short = SECRET.slice(1);
  expect(refusal({ secrets: [], baseUrl })).toContain("1 to 10 secrets; got 0 of them");
  expect(refusal({ secrets: SECRET, baseUrl })).toContain("got string");
  expect(refusal({ secrets: Array(11).fill(SECRET), baseUrl })).toContain("got 11 of them");
  expect(refusal({ secrets: [SECRET, short], baseUrl })).toBe(
    "INVALID_ARGUMENT: callbacks.secrets[1] must be a text or bytes of at least 32 bytes; got 31 bytes.",
  );
  expect(refusal({ secrets: [7], baseUrl })).toContain("callbacks.secrets[0]");
  expect(refusal({ secrets: [SECRET], baseUrl, other: 1 })).toContain('unknown option "other"');
});

test("the base address loses the slash at its end, and must be an address", () => {
  const of = (given: string): string =>
    resolveCallbacks({ secrets: [SECRET], baseUrl: given }).baseUrl;
  expect(of("https://example.com/callbacks/")).toBe(baseUrl);
  expect(of("http://localhost:4000")).toBe("http://localhost:4000");
  for (const bad of [
    "",
    "/callbacks",
    "ftp://x",
    "https://x/?a=1",
    "https://x/#a",
    "https://u:p@x/",
    7,
  ]) {
    expect(refusal({ secrets: [SECRET], baseUrl: bad })).toMatch(
      /^INVALID_ARGUMENT: callbacks.baseUrl/,
    );
  }
});

test("the table of schemas keeps the newest thousand", () => {
  const schemas = new CallbackSchemas();
  const schema = {} as StandardSchema;
  for (let i = 0; i < 1_500; i++) schemas.learn("order", `callback ${i}`, schema);
  expect(schemas.find("order", "callback 1499")).toBe(schema);
  expect(schemas.find("order", "callback 500")).toBe(schema);
  expect(schemas.find("order", "callback 499")).toBeUndefined();
  expect(schemas.find("other", "callback 1499")).toBeUndefined();
});
