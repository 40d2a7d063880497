import { deepStrictEqual } from "node:assert";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { defaultCodec } from "../../../../src/core/values/codec.ts";
import { encodeTagged } from "../../../../src/core/values/encode.ts";
import { decodeTagged } from "../../../../src/core/values/decode.ts";

const { encode, decode } = defaultCodec;

function expectRestored(value: unknown): void {
  const text = encode(value);
  const restored = decode(text);
  deepStrictEqual(restored, value);
  // deepStrictEqual ignores the order of keys and entries; the text does not.
  expect(encode(restored)).toBe(text);
}

describe("plain JSON", () => {
  test.each([
    [{}],
    [[]],
    [{ a: 1, b: [true, null, "x"], c: { d: 1.5e300 } }],
    [["~u"]],
    [[["~", 1]]],
    [{ "~u": ["~n", "NaN"] }],
    [{ toJSON: 5 }],
    [{ 2: "b", 1: "a", z: 0 }],
    ["\ud800 lone, \u2028, \0"],
    [""],
    [0],
    [-1.5],
    [5e-324],
    [false],
    [null],
    [JSON.parse('{"__proto__":{"a":1},"constructor":2,"prototype":[]}')],
    [Object.freeze({ a: Object.freeze([1]) })],
  ])("is stored as JSON.stringify writes it: %j", (value) => {
    expect(encode(value)).toBe(JSON.stringify(value));
    expectRestored(value);
  });

  test("is stored as JSON.stringify writes it, for random JSON values", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        // -0 is the one number that JSON.stringify changes.
        fc.pre(!containsNegativeZero(value));
        expect(encode(value)).toBe(JSON.stringify(value));
        expectRestored(value);
      }),
      { numRuns: 1_000 },
    );
  });

  test("encoded by the tagged encoder decodes to the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = encodeTagged(value);
        deepStrictEqual(text.startsWith("~") ? decodeTagged(text) : JSON.parse(text), value);
      }),
    );
  });
});

describe("a toJSON", () => {
  afterEach(() => {
    Reflect.deleteProperty(Object.prototype, "toJSON");
    Reflect.deleteProperty(BigInt.prototype, "toJSON");
  });

  test("on all objects is never called", () => {
    const property = { value: () => "wrong", configurable: true };
    Object.defineProperty(Object.prototype, "toJSON", property);
    Object.defineProperty(BigInt.prototype, "toJSON", property);
    expect(encode({ a: [1, "x"] })).toBe('{"a":[1,"x"]}');
    expectRestored({ a: ["~x", 1n, new Date(5)] });
  });
});

describe("values beyond JSON are restored exactly", () => {
  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["undefined inside", { a: undefined, b: [undefined, 1] }],
    ["numbers", [NaN, Infinity, -Infinity, -0, 0]],
    ["negative zero", -0],
    ["bigint", [0n, -1n, 2n ** 200n]],
    ["Date", [new Date(0), new Date(-1), new Date(8.64e15), new Date(NaN)]],
    [
      "Map",
      new Map<unknown, unknown>([
        ["a", 1],
        [{ k: 1 }, new Map([[NaN, undefined]])],
      ]),
    ],
    ["Set", new Set([1, "1", null, undefined, new Set(["~u"])])],
    ["URL", new URL("https://user:pw@example.com:8080/a%20b?q=1#h")],
    ["RegExp", [/a\/b/giu, /[\]]/v, new RegExp("")]],
    ["ArrayBuffer", new Uint8Array([1, 2, 255]).buffer],
    ["DataView", new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)],
    ["Buffer", Buffer.from("héllo")],
    ["a view of part of a buffer", new Uint8Array([1, 2, 3, 4]).subarray(1, 3)],
    ["null prototype", Object.assign(Object.create(null), { a: 1, __proto__: 2, b: { c: 3n } })],
    ["empty containers", [new Map(), new Set(), Object.create(null), new Uint8Array()]],
    [
      "arrays that look like tags",
      [["~u"], ["~", undefined], { a: ["~d", 5n] }, [["~x"], undefined]],
    ],
    ["lone surrogates", { "\ud800": new Set(["\udfff"]) }],
  ])("%s", (_, value) => {
    expectRestored(value);
  });

  test.each([
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
  ])("%o", (TypedArray) => {
    const array = new TypedArray([0, 1, 100]);
    expectRestored(array);
    expect(decode(encode(array))).toBeInstanceOf(TypedArray);
  });

  test("arrays of big and of half-precision numbers", () => {
    expectRestored(new BigInt64Array([-1n, 2n ** 62n]));
    expectRestored(new BigUint64Array([2n ** 64n - 1n]));
    const Float16: unknown = Reflect.get(globalThis, "Float16Array");
    if (typeof Float16 === "function") expectRestored(Reflect.construct(Float16, [[1.5, -0, NaN]]));
  });

  test("a Buffer is restored as a Buffer, a Uint8Array as a Uint8Array with a separate buffer", () => {
    expect(Buffer.isBuffer(decode(encode(Buffer.from([1]))))).toBe(true);
    const restored = decode(encode(new Uint8Array([1, 2]).subarray(1)));
    expect(restored).toMatchObject({ byteOffset: 0, buffer: { byteLength: 1 } });
    expect(Buffer.isBuffer(restored)).toBe(false);
  });

  test("a RegExp keeps its lastIndex", () => {
    const regExp = /a/g;
    regExp.lastIndex = 7;
    expect(decode(encode(regExp))).toMatchObject({ source: "a", flags: "g", lastIndex: 7 });
  });

  test("a shared object becomes two copies", () => {
    const shared = { n: 1n };
    const restored = decode(encode([shared, shared]));
    deepStrictEqual(restored, [shared, shared]);
    expect(Array.isArray(restored) && restored[0] !== restored[1]).toBe(true);
  });

  test("a plain object and array of another realm are plain", () => {
    expect(encode(runInNewContext("({ a: [1, { b: 2 }] })"))).toBe('{"a":[1,{"b":2}]}');
  });

  test("a Set of many elements", () => {
    const many = new Set(Array.from({ length: 300_000 }, (_, index) => index));
    expect(decode(encode(many))).toEqual(many);
  });

  test("random values", () => {
    const options = {
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      withObjectString: true,
    };
    const key = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toJSON", "~u"));
    fc.assert(fc.property(fc.anything({ ...options, key }), expectRestored), { numRuns: 3_000 });
    const text = fc.oneof(fc.constantFrom("~", "~u", "~n", "NaN"), fc.string({ unit: "binary" }));
    fc.assert(fc.property(fc.anything({ ...options, values: [text] }), expectRestored));
  });
});

describe("keys that could pollute a prototype", () => {
  test.each(["__proto__", "constructor", "prototype"])("%s is data", (key) => {
    for (const inner of [1, 1n, { polluted: true }, { polluted: 1n }]) {
      const value: unknown = Object.fromEntries([[key, inner]]);
      for (const outer of [value, [value, undefined], new Map([[value, value]])])
        expectRestored(outer);
      const restored = decode(encode([value, undefined]));
      const [first] = restored as [object];
      expect(Object.getPrototypeOf(first)).toBe(Object.prototype);
      expect(Object.keys(first)).toEqual([key]);
    }
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  test("a handwritten text does not change a prototype", () => {
    decode('~{"__proto__":{"polluted":["~u"]},"a":["~0",{"__proto__":{"polluted":["~i","1"]}}]}');
    decode(
      '~["~e","Error",{"__proto__":{"polluted":1}},{"constructor":{"prototype":{"polluted":1}}}]',
    );
    expect("polluted" in {}).toBe(false);
  });
});

describe("malformed text is HISTORY_CORRUPT", () => {
  test.each([
    [""],
    ["{"],
    ["~"],
    ["~u"],
    ["~["],
    ['~["~"'],
    ['~["~z"]'],
    ['~["~toString"]'],
    ['~["~n","1"]'],
    ['~["~n","toString"]'],
    ['~["~i","x"]'],
    ['~["~i","0x1"]'],
    ['~["~i",1]'],
    ['~["~d","1"]'],
    ['~["~m",1]'],
    ['~["~b","Uint8Array","*"]'],
    ['~["~b","Uint16Array","AA=="]'],
    ['~["~b","toString",""]'],
    ['~["~l","nothing"]'],
    ['~["~r","(",""]'],
    ['~["~e","MyError",{}]'],
    ['~["~e","Error"]'],
    ['~["~0",[]]'],
    [`~${"[".repeat(200_000)}${"]".repeat(200_000)}`],
  ])("%.30s", (text) => {
    expect(() => decode(text)).toThrowError(expect.objectContaining({ code: "HISTORY_CORRUPT" }));
  });

  test("decoding random tagged texts returns a value or raises HISTORY_CORRUPT", () => {
    const tag = fc.constantFrom(
      "~u",
      "~n",
      "~i",
      "~h",
      "~d",
      "~m",
      "~s",
      "~b",
      "~l",
      "~r",
      "~e",
      "~0",
      "~",
    );
    const part = fc.jsonValue({ maxDepth: 2 });
    fc.assert(
      fc.property(fc.tuple(tag, part, part, part), (parts) => {
        try {
          decode(`~${JSON.stringify(parts)}`);
        } catch (error) {
          expect(error).toMatchObject({ code: "HISTORY_CORRUPT" });
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

function containsNegativeZero(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return Object.is(value, -0);
  return Object.values(value).some(containsNegativeZero);
}
