// The values that the codec refuses, and its error messages (I10). values/codec.test.ts covers accepted values.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultCodec } from "../../../../src/core/values/codec.ts";
import { PerdureError } from "../../../../src/core/errors/errors.ts";

class Customer {
  name = "Ada";
}
class Price extends Number {}
class Point extends Array<number> {}
class PaymentError extends Error {}

function refusalOf(value: unknown): PerdureError {
  try {
    defaultCodec.encode(value);
  } catch (error) {
    if (error instanceof PerdureError) return error;
    throw error;
  }
  throw new Error("the value was not refused");
}

const cyclic: Record<string, unknown> = { a: { b: [1] } };
(cyclic.a as { b: unknown[] }).b.push(cyclic);
const selfMap = new Map<string, unknown>();
selfMap.set("me", selfMap);
const withExtra = Object.assign([1, 2], { index: 0 });
const withSymbol = { [Symbol("secret")]: 1 };
const hidden = Object.defineProperty({ a: 1 }, "b", { value: 2, enumerable: false });
const getter = Object.defineProperty([1, 2], 1, { get: () => 2, enumerable: true });
const revoked = Proxy.revocable({}, {});
revoked.revoke();

test.each<[string, unknown, string, RegExp]>([
  ["a function", { items: [0, 1, 2, { price: () => 1 }] }, "$.items[3].price", /a function/],
  ["a function at the top", () => 1, "$", /\$ cannot be stored: it is a function/],
  ["an own toJSON method", { toJSON: () => 1 }, "$.toJSON", /a function/],
  ["a symbol", { s: Symbol("x") }, "$.s", /a symbol/],
  ["a class instance", { customer: new Customer() }, "$.customer", /class Customer/],
  ["an instance of an unnamed class", [new (class {})()], "$[0]", /an unnamed class/],
  ["a boxed number", [new Number(1)], "$[0]", /class Number/],
  ["a subclass of Number", [new Price(1)], "$[0]", /class Price/],
  ["a subclass of Array", { p: new Point(1, 2) }, "$.p", /class Point/],
  ["a subclass of Date", new (class Day extends Date {})(), "$", /class Day/],
  ["a subclass of Error", { e: new PaymentError("x") }, "$.e", /class PaymentError/],
  ["a Promise", { p: Promise.resolve() }, "$.p", /await it first/],
  ["a WeakMap", new WeakMap(), "$", /class WeakMap/],
  ["a sparse array", { a: [1, , 3] }, "$.a[1]", /a hole/],
  ["a cycle", cyclic, "$.a.b[1]", /a reference back to \$, which/],
  ["a cycle through a Map", { m: selfMap }, '$.m.get("me")', /back to \$\.m,/],
  [
    "an accessor",
    {
      get a() {
        return 1;
      },
    },
    "$.a",
    /an accessor/,
  ],
  ["a setter without a getter", { set a(_: number) {} }, "$.a", /an accessor/],
  ["an accessor in an array", { a: getter }, "$.a[1]", /an accessor/],
  ["a match of a regular expression", { m: /a/.exec("a") }, "$.m.index", /besides its elements/],
  ["an array with an extra property", { a: withExtra }, "$.a.index", /besides its elements/],
  ["a symbol key", { o: withSymbol }, "$.o", /symbol key Symbol\(secret\)/],
  ["a hidden property", { o: hidden }, "$.o.b", /not enumerable/],
  [
    "a Date with a property",
    Object.assign(new Date(0), { zone: "UTC" }),
    "$.zone",
    /a Date does not/,
  ],
  ["a Map with a property", Object.assign(new Map(), { x: 1 }), "$.x", /a Map does not/],
  ["an object that only inherits from Date", Object.create(Date.prototype), "$", /cannot be read/],
  [
    "an object that only inherits from Error",
    Object.create(Error.prototype),
    "$",
    /although it inherits/,
  ],
  ["a function as a Map's key", new Map([[() => 1, 1]]), "$.keys()[0]", /a function/],
  ["a function as a Map's value", new Map([[{}, () => 1]]), "$.values()[0]", /a function/],
  ["a function in a Set", { s: new Set([1, () => 1]) }, "$.s.values()[1]", /a function/],
  ["a function as a cause", { e: new Error("x", { cause: () => 1 }) }, "$.e.cause", /a function/],
  ["a key that is not an identifier", { "a b": { "": Symbol() } }, '$["a b"][""]', /a symbol/],
  ["a SharedArrayBuffer", new Uint8Array(new SharedArrayBuffer(1)), "$", /shared between threads/],
  ["a resizable buffer", new ArrayBuffer(1, { maxByteLength: 2 }), "$", /resizable/],
  ["a revoked proxy", { p: revoked.proxy }, "$.p", /cannot be read/],
])("%s is refused, with its path", (_, value, path, message) => {
  const error = refusalOf(value);
  expect(error).toMatchObject({ code: "VALUE_NOT_SERIALIZABLE", path });
  expect(error.message).toMatch(message);
});

test("an accessor is refused without being run", () => {
  let runs = 0;
  const count = { get: () => ++runs, enumerable: true };
  refusalOf(Object.defineProperty({}, "a", count));
  refusalOf(Object.defineProperty([1], 0, count));
  refusalOf(Object.defineProperty([1], "name", count));
  expect(runs).toBe(0);
});

describe("limits", () => {
  const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
    let value: unknown = 1n;
    for (let level = 0; level < levels; level++) value = wrap(value);
    return value;
  };
  const wraps: [string, (inner: unknown) => unknown][] = [
    ["objects", (inner) => ({ inner })],
    ["arrays", (inner) => [inner]],
    ["maps", (inner) => new Map([[1, inner]])],
    ["errors", (cause) => new Error("x", { cause })],
  ];

  test.each(wraps)("%s are restored to a depth of 500", (_, wrap) => {
    const text = defaultCodec.encode(nested(500, wrap));
    expect(defaultCodec.encode(defaultCodec.decode(text))).toBe(text);
  });

  test.each(wraps)("%s nested deeper are refused, with a shortened path", (_, wrap) => {
    for (const levels of [501, 100_000]) {
      const error = refusalOf(nested(levels, wrap));
      expect(error.message).toMatch(/more than 500 levels deep/);
      expect(error.path?.length).toBeLessThan(1_100);
    }
  });

  test("plain JSON of 100,000 levels is refused", () => {
    let plain: unknown = 1;
    for (let level = 0; level < 100_000; level++) plain = [plain];
    expect(refusalOf(plain).message).toMatch(/levels deep/);
  });

  test("a graph of shared objects that would expand to too many copies is refused", () => {
    let graph: unknown = 1;
    for (let level = 0; level < 60; level++) graph = { left: graph, right: graph };
    expect(refusalOf(graph).message).toMatch(/more than 1000000 objects/);
  });
});

test("the path leads to the refused function at any position", () => {
  const keys = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(keys, (path) => {
      let value: unknown = () => 1;
      for (const key of path.toReversed()) value = Object.fromEntries([[key, value]]);
      let found: unknown = value;
      const { path: shownPath = "" } = refusalOf(value);
      for (const [, name, quoted] of shownPath.matchAll(
        /\.([\p{ID_Start}$_][\p{ID_Continue}$]*)|\[("(?:[^"\\]|\\.)*")\]/gu,
      )) {
        found = Reflect.get(Object(found), name ?? String(JSON.parse(quoted ?? "")));
      }
      expect(found).toBeTypeOf("function");
    }),
  );
});
