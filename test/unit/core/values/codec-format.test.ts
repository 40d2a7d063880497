// Golden texts of the stored format (core.codec.2). A stored text keeps its meaning forever: add lines here, never
// change one.

import { deepStrictEqual } from "node:assert";
import { describe, expect, test } from "vitest";
import { toLittleEndian } from "../../../../src/core/values/bytes.ts";
import { defaultCodec } from "../../../../src/core/values/codec.ts";
import { ActivityError } from "../../../../src/core/errors/task-errors.ts";

const failure = { category: "application", name: "Error", message: "no", retryable: true } as const;

test.each<[string, unknown]>([
  ['{"id":"a","n":[1,2.5,true,null]}', { id: "a", n: [1, 2.5, true, null] }],
  ['["~u"]', ["~u"]],
  ['~["~u"]', undefined],
  ['~{"a":["~u"],"b":[["~u"]]}', { a: undefined, b: [undefined] }],
  ['~["~n","NaN"]', NaN],
  ['~[["~n","Infinity"],["~n","-Infinity"],["~n","-0"],0]', [Infinity, -Infinity, -0, 0]],
  ['~["~i","-12345678901234567890"]', -12345678901234567890n],
  [`~["~i","${2n ** 4095n}"]`, 2n ** 4095n],
  [`~["~h","1${"0".repeat(1_024)}"]`, 2n ** 4096n],
  [`~["~h","-1${"0".repeat(1_024)}"]`, -(2n ** 4096n)],
  ['~["~d",1700000000123]', new Date(1_700_000_000_123)],
  ['~["~d",null]', new Date(NaN)],
  [
    '~["~m","a",1,{"k":true},["~m"]]',
    new Map<unknown, unknown>([
      ["a", 1],
      [{ k: true }, new Map()],
    ]),
  ],
  ['~["~s",1,"x",["~s"]]', new Set([1, "x", new Set()])],
  ['~["~l","https://example.com/a?b#c"]', new URL("https://example.com/a?b#c")],
  ['~["~r","a\\\\/b","gi",0]', /a\/b/gi],
  ['~["~0",{"a":1,"__proto__":2}]', Object.assign(Object.create(null), { a: 1, ["__proto__"]: 2 })],
  ['~[["~","~u"],["~u"]]', [["~u"], undefined]],
  ['~{"~u":["~i","1"]}', { "~u": 1n }],
  ['~["~b","Buffer","aGk="]', Buffer.from("hi")],
  ['~["~b","Uint8Array","AQID"]', new Uint8Array([1, 2, 3])],
  ['~["~b","Uint16Array","AQACAQ=="]', new Uint16Array([1, 258])],
  ['~["~b","Float64Array","AAAAAAAA+D8="]', new Float64Array([1.5])],
  ['~["~b","BigInt64Array","//////////8="]', new BigInt64Array([-1n])],
  ['~["~b","ArrayBuffer","/w=="]', new Uint8Array([255]).buffer],
  ['~["~b","DataView","AQI="]', new DataView(new Uint8Array([1, 2]).buffer)],
])("%s", (text, value) => {
  expect(defaultCodec.encode(value)).toBe(text);
  deepStrictEqual(defaultCodec.decode(text), value);
});

describe("errors", () => {
  function at<E extends Error>(error: E): E {
    error.stack = `${error.name}: at home`;
    return error;
  }

  test.each<[string, Error]>([
    ['~["~e","Error",{"stack":"Error: at home","message":"no"}]', at(new Error("no"))],
    ['~["~e","Error",{"stack":"Error: at home"}]', at(new Error())],
    [
      '~["~e","TypeError",{"stack":"TypeError: at home","message":"no","cause":["~u"]},{"code":"E1","at":["~d",5]}]',
      at(Object.assign(new TypeError("no", { cause: undefined }), { code: "E1", at: new Date(5) })),
    ],
    [
      '~["~e","AggregateError",{"stack":"AggregateError: at home","message":"all","errors":[1,["~e","Error",{"stack":"Error: at home","message":"a"}]]}]',
      at(new AggregateError([1, at(new Error("a"))], "all")),
    ],
    [
      '~["~e","ActivityError",{"stack":"ActivityError: at home","message":"no","cause":"why"},{"code":"ACTIVITY_FAILED","kind":"application","attempts":3,"failure":{"category":"application","name":"Error","message":"no","retryable":true},"activity":"charge"}]',
      at(new ActivityError("charge", { failure: failure, attempts: 3, cause: "why" })),
    ],
  ])("%s", (text, error) => {
    expect(defaultCodec.encode(error)).toBe(text);
    const restored = defaultCodec.decode(text);
    expect(Error.isError(restored)).toBe(true);
    expect(Object.getPrototypeOf(restored)).toBe(Object.getPrototypeOf(error));
    deepStrictEqual(restored, error);
    expect(defaultCodec.encode(restored)).toBe(text);
  });

  test("keep their stack and their custom name", () => {
    const error = Object.assign(new RangeError("far"), { name: "TooFar" });
    const restored = defaultCodec.decode(defaultCodec.encode(error));
    expect(restored).toBeInstanceOf(RangeError);
    expect(restored).toMatchObject({ name: "TooFar", message: "far", stack: error.stack });
    expect(Object.keys(Object(restored))).toEqual(["name"]);
  });
});

test("a big-endian host writes and reads little-endian bytes", () => {
  const bytes = Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]);
  expect([...toLittleEndian(bytes, 4, false)]).toEqual([4, 3, 2, 1, 8, 7, 6, 5]);
  expect([...bytes]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(toLittleEndian(bytes, 1, false)).toBe(bytes);
  expect(toLittleEndian(bytes, 4, true)).toBe(bytes);
});
