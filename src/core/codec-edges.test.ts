// The codec at its edges: what is nearly something else, and the paths that lead there (C1, T1, U1).

import { createContext, runInContext } from "node:vm";
import { expect, test } from "vitest";
import { defaultCodec } from "./codec.ts";
import { toLittleEndian } from "./codec-bytes.ts";
import { isPerdureError, type PerdureError } from "./errors.ts";

const { encode, decode } = defaultCodec;

function refusalOf(value: unknown): PerdureError {
  try {
    encode(value);
  } catch (error) {
    if (isPerdureError(error, "VALUE_NOT_SERIALIZABLE")) return error;
    throw error;
  }
  throw new Error("it was stored");
}

test.each([NaN, Infinity, -Infinity, -0, undefined, 5n])(
  "%s is kept wherever it stands",
  (value) => {
    const inside: unknown[] = [{ a: value }, [value], { a: [{ b: value }] }, new Map([[1, value]])];
    for (const outer of [value, ...inside]) expect(decode(encode(outer))).toStrictEqual(outer);
  },
);

test("an array that begins with a text is an array, and has no tag it does not need", () => {
  const value = { list: ["x", undefined], tag: ["~u"], empty: ["", undefined] };
  expect(decode(encode(value))).toStrictEqual(value);
  expect(encode(["x", undefined])).toBe('~["x",["~u"]]');
  expect(encode(["~u", undefined])).toBe('~["~","~u",["~u"]]');
});

test("a symbol as a key is refused on every kind of object, and never lost", () => {
  const key = Symbol("secret");
  const bearers = [{}, [], [1], new Date(0), new Map(), new Uint8Array(1), new Error("e"), /a/];
  for (const bearer of bearers) {
    expect(refusalOf(Object.assign(bearer, { [key]: 1 })).message).toContain("Symbol(secret)");
  }
});

test("a property of an array besides its elements is refused by its name", () => {
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

test("an accessor is refused by its name and not run; of errors the stack alone is read", () => {
  const get = () => {
    throw new Error("it ran");
  };
  const options = { get, enumerable: true };
  expect(refusalOf(Object.defineProperty({}, "stack", options)).path).toBe("$.stack");
  expect(refusalOf(Object.defineProperty(new Error("e"), "code", options)).path).toBe("$.code");
  expect(refusalOf(Object.defineProperty([0], 0, options)).path).toBe("$[0]");
});

test("what only inherits from a class that can be stored is refused as what it is", () => {
  for (const builtIn of [Date, Map, Set, URL, RegExp, ArrayBuffer]) {
    expect(refusalOf({ a: Object.create(builtIn.prototype) }).path).toBe("$.a");
  }
  for (const builtIn of [Uint8Array, Buffer, Error, TypeError]) {
    const { message } = refusalOf(Object.create(builtIn.prototype));
    expect(message).toContain(`no ${builtIn.name}, although it inherits from it`);
  }
  for (const prototype of [Object.create(null), { isPrototypeOf: 1 }, { constructor: 5 }]) {
    expect(refusalOf(Object.create(prototype)).message).toContain("an instance of");
  }
  expect(refusalOf(Object.create({ constructor: 5 })).message).toContain("a nameless class");
});

test("plain objects of another realm are plain", () => {
  const foreign: unknown = runInContext("({ a: { b: 1 }, c: undefined })", createContext());
  expect(decode(encode(foreign))).toStrictEqual({ a: { b: 1 }, c: undefined });
});

test("a buffer that was given away is refused", () => {
  const buffer = new ArrayBuffer(8);
  const view = new Uint8Array(buffer);
  structuredClone(buffer, { transfer: [buffer] });
  expect(refusalOf(buffer).message).toContain("detached");
  expect(refusalOf(view).message).toContain("detached");
});

test("elements are turned round on a host that is not little-endian, and bytes are not", () => {
  const bytes = Buffer.from([1, 2, 3, 4]);
  expect([...toLittleEndian(bytes, 2, false)]).toEqual([2, 1, 4, 3]);
  expect([...toLittleEndian(bytes, 4, false)]).toEqual([4, 3, 2, 1]);
  expect(toLittleEndian(bytes, 1, false)).toBe(bytes);
  expect(toLittleEndian(bytes, 4, true)).toBe(bytes);
  expect([...bytes]).toEqual([1, 2, 3, 4]);
});

test("a path leads into maps by key where the key can be written, and by place where it cannot", () => {
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

test("a path of a thousand characters is told in full, a longer one by its two ends", () => {
  const pathOf = (length: number) => refusalOf({ ["a".repeat(length - 2)]: () => 1 }).path ?? "";
  expect(pathOf(1_000)).toBe(`$.${"a".repeat(998)}`);
  expect(pathOf(1_001)).toBe(`$.${"a".repeat(498)} … ${"a".repeat(500)}`);
});

test("a refusal has the reason as its cause where there was one, and else has none", () => {
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

test.each(CORRUPT)("%s was never written: it is corrupt, with its reason as the cause", (text) => {
  expect(() => decode(text)).toThrow(
    expect.objectContaining({ code: "HISTORY_CORRUPT", cause: expect.any(Error) }),
  );
});

test("a decimal BigInt of any length stays readable: earlier versions wrote them", () => {
  const digits = "7".repeat(20_000);
  expect(decode(`~["~i","${digits}"]`)).toBe(BigInt(digits));
});
