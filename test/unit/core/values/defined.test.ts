import { expect, expectTypeOf, test } from "vitest";
import { defined } from "../../../../src/core/values/defined.ts";

test("members set to undefined are left out, the other members keep their order", () => {
  const stored = defined({ b: undefined, z: 1, a: null, f: false, e: "" });
  expect(Object.entries(stored)).toEqual([
    ["z", 1],
    ["a", null],
    ["f", false],
    ["e", ""],
  ]);
});

test("the given object is not changed", () => {
  const given = { a: undefined, b: 1 };
  defined(given);
  expect(Object.keys(given)).toEqual(["a", "b"]);
});

test("a member that may be undefined is optional in the type, and never undefined", () => {
  const [name = undefined] = [] as (string | undefined)[];
  const made: { readonly count: number; readonly name?: string } = defined({ count: 1, name });
  expect(made).toEqual({ count: 1 });
  expectTypeOf(defined({ count: 1 as number, name })).toEqualTypeOf<
    { readonly count: number } & { readonly name?: string }
  >();
});
