// Bodies of callbacks as values.

import { expect, test } from "vitest";
import { parseBody } from "../../../src/callback/body.ts";

const BOUNDS = { jsonDepthMax: 64, jsonMembersMax: 1_000 };
const parsed = (body: string | Uint8Array, type: string | null) =>
  parseBody(Buffer.from(body), type, BOUNDS);

test("JSON is a value, whatever its subtype", async () => {
  expect(await parsed('{"a":[1,null]}', "application/json")).toEqual({ a: [1, null] });
  expect(await parsed("3", "Application/JSON; charset=utf-8")).toBe(3);
  expect(await parsed('{"a":1}', "application/cloudevents+json")).toEqual({ a: 1 });
});

test("a form is a record of texts, also if it has several parts", async () => {
  const form = "decision=approve&note=a+b%26c&empty=";
  const expected = { decision: "approve", note: "a b&c", empty: "" };
  expect(await parsed(form, "application/x-www-form-urlencoded")).toEqual(expected);
  const data = new FormData();
  for (const [name, value] of Object.entries(expected)) data.set(name, value);
  const response = new Response(data);
  const bytes = new Uint8Array(await response.arrayBuffer());
  expect(await parsed(bytes, response.headers.get("content-type"))).toEqual(expected);
});

test("a text is a text in its character set, and anything else is bytes", async () => {
  expect(await parsed("héllo", "text/plain")).toBe("héllo");
  const latin = new Uint8Array([104, 233]);
  expect(await parsed(latin, "text/csv; charset=iso-8859-1")).toBe("hé");
  expect(await parsed(latin, "image/png")).toEqual(latin);
  expect(await parsed(latin, "application/octet-stream")).toEqual(latin);
  expect(await parsed(latin, null)).toEqual(latin);
});

test("an empty body is undefined, an empty text, an empty record or no bytes", async () => {
  expect(await parsed("", null)).toBeUndefined();
  expect(await parsed("", "application/json")).toBeUndefined();
  expect(await parsed("", "text/plain")).toBe("");
  expect(await parsed("", "application/x-www-form-urlencoded")).toEqual({});
  expect(await parsed("", "application/pdf")).toEqual(new Uint8Array());
});

test("reserved names of a form and of JSON are ordinary members", async () => {
  const form = await parsed("__proto__=a&constructor=b", "application/x-www-form-urlencoded");
  expect(Object.entries(form as object)).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
  expect(Object.getPrototypeOf(form)).toBe(Object.prototype);
  const json = await parsed('{"__proto__":{"a":1}}', "application/json");
  expect(Object.keys(json as object)).toEqual(["__proto__"]);
});

test.each([
  ["invalid JSON", "{", "application/json"],
  ["JSON that is nested too deep", "[".repeat(70) + "]".repeat(70), "application/json"],
  ["JSON with too many members", `[${"1,".repeat(1_001)}1]`, "application/json"],
  ["JSON that is not UTF-8", new Uint8Array([34, 255, 34]), "application/json"],
  ["a form with a repeated name", "a=1&a=2", "application/x-www-form-urlencoded"],
  ["a form that is not UTF-8", new Uint8Array([97, 61, 255]), "application/x-www-form-urlencoded"],
  ["several parts without a boundary", "a", "multipart/form-data"],
  ["a text that is not in its character set", new Uint8Array([255]), "text/plain"],
  ["a text in an unknown character set", "a", "text/plain; charset=nonsense"],
])("%s is refused", async (_title, body, type) => {
  await expect(parsed(body, type)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a form with a file is refused, with the name of the field", async () => {
  const data = new FormData();
  data.set("scan", new Blob(["x"]), "scan.png");
  const response = new Response(data);
  const bytes = new Uint8Array(await response.arrayBuffer());
  await expect(parsed(bytes, response.headers.get("content-type"))).rejects.toThrow(
    /must contain no file; "scan" is one/,
  );
});
