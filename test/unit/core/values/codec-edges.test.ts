// Edge cases of the codec: values that resemble another kind, and the paths in errors (core.codec.1, class-tags.1, decode.1).

import { createContext, runInContext } from "node:vm";
import { expect, test } from "vitest";
import { defaultCodec } from "../../../../src/core/values/codec.ts";
import { toLittleEndian } from "../../../../src/core/values/bytes.ts";
import { isPerdureError, type PerdureError } from "../../../../src/core/errors/errors.ts";

const { encode, decode } = defaultCodec;

function refusalOf(value: unknown): PerdureError {
  try {
    encode(value);
  } catch (error) {
    if (isPerdureError(error, "VALUE_NOT_SERIALIZABLE")) return error;
    throw error;
  }
  throw new Error("the value was encoded");
}

test.each([NaN, Infinity, -Infinity, -0, undefined, 5n])(
  "%s is restored at any position",
  (value) => {
    const inside: unknown[] = [{ a: value }, [value], { a: [{ b: value }] }, new Map([[1, value]])];
    for (const outer of [value, ...inside]) expect(decode(encode(outer))).toStrictEqual(outer);
  },
);

test("an array whose first element is a string is restored, and gets an escape tag only if needed", () => {
  const value = { list: ["x", undefined], tag: ["~u"], empty: ["", undefined] };
  expect(decode(encode(value))).toStrictEqual(value);
  expect(encode(["x", undefined])).toBe('~["x",["~u"]]');
  expect(encode(["~u", undefined])).toBe('~["~","~u",["~u"]]');
});

test("a symbol key is refused on every kind of object, never dropped", () => {
  const key = Symbol("secret");
  const objects = [{}, [], [1], new Date(0), new Map(), new Uint8Array(1), new Error("e"), /a/];
  for (const object of objects) {
    expect(refusalOf(Object.assign(object, { [key]: 1 })).message).toContain("Symbol(secret)");
  }
});

test("an extra property of an array is refused, and the path names it", () => {
  for (const [name, path] of [
    ["01", '$["01"]'],
    ["-1", '$["-1"]'],
    ["1.5", '$["1.5"]'],
    ["name", "$.name"],
    ["4294967295", '$["4294967295"]'],
  ] as const) {
    expect(refusalOf(Object.assign([1, 2], { [name]: 3 })).path).toBe(path);
  }
});

test("an accessor is refused without running it, and the path names it", () => {
  const get = () => {
    throw new Error("the accessor ran");
  };
  const options = { get, enumerable: true };
  expect(refusalOf(Object.defineProperty({}, "stack", options)).path).toBe("$.stack");
  expect(refusalOf(Object.defineProperty(new Error("e"), "code", options)).path).toBe("$.code");
  expect(refusalOf(Object.defineProperty([0], 0, options)).path).toBe("$[0]");
});

test("an object that only inherits from a storable class is refused", () => {
  for (const builtIn of [Date, Map, Set, URL, RegExp, ArrayBuffer]) {
    expect(refusalOf({ a: Object.create(builtIn.prototype) }).path).toBe("$.a");
  }
  for (const builtIn of [Uint8Array, Buffer, Error, TypeError]) {
    const { message } = refusalOf(Object.create(builtIn.prototype));
    expect(message).toContain(
      `not a genuine ${builtIn.name}, although it inherits from ${builtIn.name}`,
    );
  }
  for (const prototype of [Object.create(null), { isPrototypeOf: 1 }, { constructor: 5 }]) {
    expect(refusalOf(Object.create(prototype)).message).toContain("an instance of");
  }
  expect(refusalOf(Object.create({ constructor: 5 })).message).toContain("an unnamed class");
});

test("plain objects of another realm are plain", () => {
  const foreign: unknown = runInContext("({ a: { b: 1 }, c: undefined })", createContext());
  expect(decode(encode(foreign))).toStrictEqual({ a: { b: 1 }, c: undefined });
});

test("a detached buffer is refused", () => {
  const buffer = new ArrayBuffer(8);
  const view = new Uint8Array(buffer);
  structuredClone(buffer, { transfer: [buffer] });
  expect(refusalOf(buffer).message).toContain("detached");
  expect(refusalOf(view).message).toContain("detached");
});

test("a big-endian host reverses the bytes of elements, except single-byte elements", () => {
  const bytes = Buffer.from([1, 2, 3, 4]);
  expect([...toLittleEndian(bytes, 2, false)]).toEqual([2, 1, 4, 3]);
  expect([...toLittleEndian(bytes, 4, false)]).toEqual([4, 3, 2, 1]);
  expect(toLittleEndian(bytes, 1, false)).toBe(bytes);
  expect(toLittleEndian(bytes, 4, true)).toBe(bytes);
  expect([...bytes]).toEqual([1, 2, 3, 4]);
});

test("a path into a map uses the key if the key is a primitive, otherwise its index", () => {
  const bad = () => 1;
  const key = {};
  const map = new Map<unknown, unknown>([
    ["text", 0],
    [5, 0],
    [true, 0],
    [key, 0],
  ]);
  const pathWith = (at: unknown) => refusalOf(new Map(map).set(at, bad)).path;
  expect(["text", 5, true, key].map(pathWith)).toEqual([
    '$.get("text")',
    "$.get(5)",
    "$.get(true)",
    "$.values()[3]",
  ]);
  expect(refusalOf(new Map([...map, [bad, 0]])).path).toBe("$.keys()[4]");
  expect(refusalOf(new Set([0, 1, bad])).path).toBe("$.values()[2]");
  expect(refusalOf(Object.assign(/a/g, { lastIndex: bad })).path).toBe("$.lastIndex");
});

test("a path of up to a thousand characters is shown in full, a longer path by its two ends", () => {
  const pathOf = (length: number) => refusalOf({ ["a".repeat(length - 2)]: () => 1 }).path ?? "";
  expect(pathOf(1_000)).toBe(`$.${"a".repeat(998)}`);
  expect(pathOf(1_001)).toBe(`$.${"a".repeat(498)} … ${"a".repeat(500)}`);
});

test("an error that a value throws becomes the cause of the refusal; otherwise there is no cause", () => {
  const reason = new Error("not to be looked at");
  const hidden = new Proxy(
    {},
    {
      ownKeys: () => {
        throw reason;
      },
    },
  );
  expect(refusalOf({ a: [hidden] })).toMatchObject({ path: "$.a[0]", cause: reason });
  expect(
    Object.hasOwn(
      refusalOf(() => 1),
      "cause",
    ),
  ).toBe(false);
});

const CORRUPT = [
  ...["~[", '~["~x"]', '~["~n","1"]', '~["~i","0x1"]', '~["~i",5]', '~["~d","0"]'],
  ...['~["~m",1]', '~["~l",5]', '~["~r",5,"",0]', '~["~r","a",5,0]', '~["~b","Uint8Array",5]'],
  ...['~["~b","Uint16Array","AA=="]', '~["~b","Float128Array","AA=="]', '~["~b","Uint8Array","*"]'],
  ...['~["~0","ab"]', '~["~0",5]', '~["~0",null]', '~["~0",["a"]]', '~["~e","Error","ab"]'],
  ...['~["~d",8640000000000001]', '~["~d",1e300]', '~["~d",0.5]', '~["~i",""]', '~["~i","007"]'],
  ...['~["~i","-0"]', '~["~h","ff"]', `~["~h","0${"f".repeat(1_024)}"]`, '~["~h",5]'],
  ...['~["~e","Error",{},"ab"]', '~["~e","Nonsense",{}]', '~["~e",5,{}]'],
];

test.each(CORRUPT)("%s is corrupt: decoding raises HISTORY_CORRUPT with a cause", (text) => {
  expect(() => decode(text)).toThrow(
    expect.objectContaining({ code: "HISTORY_CORRUPT", cause: expect.any(Error) }),
  );
});

test("a decimal BigInt of any length stays readable, because earlier versions wrote them", () => {
  const digits = "7".repeat(20_000);
  expect(decode(`~["~i","${digits}"]`)).toBe(BigInt(digits));
});
