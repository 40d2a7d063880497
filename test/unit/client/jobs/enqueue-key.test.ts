// The options `unique`, `debounce` and `throttle` of a call: what is accepted, and what is refused before anything is
// written.

import { expect, test } from "vitest";
import { enqueueKey } from "../../../../src/client/jobs/enqueue-key.ts";
import { isPerdureError } from "../../../../src/core/errors/errors.ts";

type Options = Parameters<typeof enqueueKey>[0];

const parse = (options: unknown) => enqueueKey(options as Options, 'job "mail"');

/** The message of the refusal. */
function refusalOf(options: unknown): string {
  try {
    parse(options);
  } catch (error) {
    if (isPerdureError(error, "INVALID_ARGUMENT")) return error.message;
    throw error;
  }
  throw new Error(`${JSON.stringify(options)} was accepted`);
}

test("a call without a key has none", () => {
  expect(parse({})).toBeNull();
  expect(parse({ delay: "1s", tx: {} })).toBeNull();
  expect(parse({ unique: undefined, debounce: undefined, throttle: undefined })).toBeNull();
});

test("unique is a text, or a key and a policy", () => {
  const key = { kind: "unique", key: "user-1", onConflict: "useExisting" };
  expect(parse({ unique: "user-1" })).toEqual(key);
  expect(parse({ unique: { key: "user-1" } })).toEqual(key);
  expect(parse({ unique: { key: "user-1", onConflict: undefined } })).toEqual(key);
  for (const onConflict of ["useExisting", "fail", "replace"]) {
    expect(parse({ unique: { key: "user-1", onConflict } })).toEqual({ ...key, onConflict });
  }
});

test("unique can be used with a delay or a time", () => {
  expect(parse({ unique: "k", delay: "1s" })).toMatchObject({ kind: "unique" });
  expect(parse({ unique: "k", at: new Date(0) })).toMatchObject({ kind: "unique" });
});

test("debounce has a wait, and may have a maximum", () => {
  const key = { kind: "debounce", key: "k", waitMs: 2_000, maxMs: null };
  expect(parse({ debounce: { key: "k", wait: "2s" } })).toEqual(key);
  expect(parse({ debounce: { key: "k", wait: 2_000, max: "1m" } })).toEqual({
    ...key,
    maxMs: 60_000,
  });
  expect(parse({ debounce: { key: "k", wait: "2s", max: "2s" } })).toEqual({
    ...key,
    maxMs: 2_000,
  });
});

test("throttle has a window, and may be trailing", () => {
  const key = { kind: "throttle", key: "k", perMs: 60_000, trailing: false };
  expect(parse({ throttle: { key: "k", per: "1m" } })).toEqual(key);
  expect(parse({ throttle: { key: "k", per: "1m", trailing: true } })).toEqual({
    ...key,
    trailing: true,
  });
});

test("keys of 1 to 256 bytes are accepted", () => {
  for (const key of ["k", "x".repeat(256), "é".repeat(128), " ", "a/b:c"]) {
    expect(parse({ unique: key })).toMatchObject({ key });
  }
});

const debounce = { key: "k", wait: "1s" };
const throttle = { key: "k", per: "1s" };
test.each<[options: unknown, message: RegExp]>([
  [{ unique: "k", debounce }, /job "mail": give unique or debounce, not both/],
  [{ unique: "k", throttle }, /give unique or throttle, not both/],
  [{ debounce, throttle }, /give debounce or throttle, not both/],
  [{ unique: "k", debounce, throttle }, /not both/],
  [{ unique: "k", tx: {} }, /unique cannot be used with tx/],
  [{ debounce, tx: {} }, /debounce cannot be used with tx/],
  [{ throttle, tx: {} }, /throttle cannot be used with tx/],
  [{ debounce, delay: "1s" }, /debounce cannot be used with delay/],
  [{ debounce, at: new Date() }, /debounce cannot be used with at/],
  [{ throttle, delay: "1s" }, /throttle cannot be used with delay/],
  [{ throttle, at: new Date() }, /throttle cannot be used with at/],
  [{ unique: "" }, /must have 1 to 256 bytes; got 0/],
  [{ unique: "x".repeat(257) }, /must have 1 to 256 bytes; got 257/],
  [{ unique: "é".repeat(129) }, /got 258/],
  [{ unique: "a\0b" }, /U\+0000/],
  [{ unique: "\ud800" }, /unique of job "mail"/],
  [{ unique: 7 }, /The options of unique of job "mail" must be an object; got 7/],
  [{ unique: null }, /must be an object; got null/],
  [{ unique: {} }, /key in unique of job "mail" must be a text; got undefined/],
  [{ unique: { key: 7 } }, /must be a text; got 7/],
  [{ unique: { key: "k", onConflict: "restart" } }, /onConflict in unique .* got "restart"/],
  [{ unique: { key: "k", policy: "fail" } }, /unknown option "policy"/],
  [{ debounce: "k" }, /must be an object; got "k"/],
  [{ debounce: { wait: "1s" } }, /key in debounce of job "mail" must be a text/],
  [{ debounce: { key: "k" } }, /wait in debounce of job "mail" must be/],
  [{ debounce: { key: "k", wait: 0 } }, /wait in debounce .* must be greater than 0; got 0/],
  [{ debounce: { key: "k", wait: -1 } }, /wait in debounce/],
  [{ debounce: { key: "k", wait: "soon" } }, /wait in debounce .* got "soon"/],
  [{ debounce: { ...debounce, max: 999 } }, /max in debounce .* at least wait \("1s"\); got 999/],
  [{ debounce: { ...debounce, max: 0 } }, /max in debounce .* greater than 0/],
  [{ debounce: { ...debounce, trailing: true } }, /unknown option "trailing"/],
  [{ throttle: { per: "1s" } }, /key in throttle/],
  [{ throttle: { key: "k" } }, /per in throttle/],
  [{ throttle: { key: "k", per: 0 } }, /per in throttle .* greater than 0; got 0/],
  [{ throttle: { ...throttle, trailing: "yes" } }, /trailing in throttle .* true or false/],
  [{ throttle: { ...throttle, max: 1 } }, /unknown option "max"/],
])("%j is refused", (options, message) => {
  expect(refusalOf(options)).toMatch(message);
});
