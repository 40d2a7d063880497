import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  childInstanceId,
  parseChildId,
  parseInstanceId,
  parseInstanceReference,
  parseName,
  parseRequestId,
  showValue,
} from "../../../../src/core/ids/ids.ts";

const PARSERS = [
  ["parseInstanceId", parseInstanceId],
  ["parseChildId", parseChildId],
  ["parseName", (value: unknown) => parseName(value, "activity name")],
  ["parseRequestId", parseRequestId],
] as const;
const refused = expect.objectContaining({ code: "INVALID_ARGUMENT" });

describe.each(PARSERS)("%s", (_name, parse) => {
  test.each([
    "a",
    "order-42",
    "a b",
    "a:b",
    ":",
    "größe",
    "🚀",
    "e\u0301",
    "\u2028",
    "a".repeat(256),
  ])("returns %j unchanged", (value) => {
    expect(parse(value)).toBe(value);
  });

  test.each<[unknown, string]>([
    ["", "is empty; it must have 1 to 256 bytes"],
    ["a".repeat(257), "is longer than 256 bytes in UTF-8"],
    ["é".repeat(129), "is longer than 256 bytes in UTF-8"],
    ["🚀".repeat(65), "is longer than 256 bytes in UTF-8"],
    ["\ud83d", "is not well-formed Unicode"],
    ["a\udc00b", "is not well-formed Unicode"],
    ["a\0", "contains a control character"],
    ["a\nb", "contains a control character"],
    ["\u001f", "contains a control character"],
    ["\u007f", "contains a control character"],
    ["\u0080", "contains a control character"],
    ["\u009f", "contains a control character"],
    [undefined, "must be a string"],
    [null, "must be a string"],
    [42, "must be a string"],
    [Symbol("a"), "must be a string"],
    [Object("a"), "must be a string"],
  ])("refuses %j, which %s", (value, rule) => {
    expect(() => parse(value)).toThrow(refused);
    expect(() => parse(value)).toThrow(rule);
  });

  test("accepts up to 256 bytes in UTF-8, in any script", () => {
    expect(parse("é".repeat(128))).toHaveLength(128);
    expect(parse("🚀".repeat(64))).toHaveLength(128);
    expect(parse("語".repeat(85) + "a")).toHaveLength(86);
    expect(() => parse("語".repeat(85) + "ab")).toThrow(refused);
  });

  test("accepts exactly the texts that ids.1 allows", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        const bytes = Buffer.byteLength(text);
        const codes = [...text].map((c) => c.codePointAt(0)!);
        const clean = !codes.some((c) => c <= 0x1f || (c >= 0x7f && c <= 0x9f));
        fc.pre(!text.includes("::") && !text.startsWith("perdure."));
        if (bytes >= 1 && bytes <= 256 && clean) expect(parse(text)).toBe(text);
        else expect(() => parse(text)).toThrow(refused);
      }),
    );
  });
});

describe("the separator of children", () => {
  test.each(["a::b", "::", "::a", "a::", "a:::b", "parent::sub::7"])(
    "%j is refused as an id",
    (id) => {
      expect(() => parseInstanceId(id)).toThrow(
        `instance id ${JSON.stringify(id)} contains "::", which is reserved for the ids of children`,
      );
      expect(() => parseChildId(id)).toThrow(`child id ${JSON.stringify(id)} contains "::"`);
    },
  );

  test("is allowed in names and request ids", () => {
    expect(parseName("billing::charge", "activity name")).toBe("billing::charge");
    expect(parseRequestId("a::b")).toBe("a::b");
  });

  test("is allowed where an instance is looked up", () => {
    expect(parseInstanceReference("parent::sub::7")).toBe("parent::sub::7");
    expect(() => parseInstanceReference("a\0")).toThrow(refused);
    expect(() => parseInstanceReference("")).toThrow(refused);
    expect(() => parseInstanceReference("a".repeat(1_025))).toThrow(refused);
  });
});

describe("parseName", () => {
  test("refuses names with the reserved prefix `perdure.`", () => {
    expect(() => parseName("perdure.flow", "orchestration name")).toThrow(
      'orchestration name "perdure.flow" begins with "perdure.", which is reserved',
    );
    expect(() => parseName("perdure.", "step name")).toThrow(refused);
    expect(parseName("perdure", "step name")).toBe("perdure");
    expect(parseName("perdurex", "step name")).toBe("perdurex");
    expect(parseName("my.perdure.flow", "step name")).toBe("my.perdure.flow");
  });
});

describe("childInstanceId", () => {
  test("omits the execution number for the first execution", () => {
    expect(childInstanceId({ parent: "p", execution: 1, sequence: 7 })).toBe("p::sub::7");
    expect(childInstanceId({ parent: "p", execution: 2, sequence: 7 })).toBe("p::sub::2_7");
    expect(childInstanceId({ parent: "p::sub::7", execution: 1, sequence: 3 })).toBe(
      "p::sub::7::sub::3",
    );
  });

  test("never gives two children the same id (ids.2)", () => {
    const unit = fc.constantFrom("a", ":", "_", "7", "2", "s");
    const root = fc.string({ unit, minLength: 1, maxLength: 4 }).filter((s) => !s.includes("::"));
    const place = fc.record({
      parent: fc.oneof(
        root,
        root.map((parent) => childInstanceId({ parent, execution: 1, sequence: 2 })),
      ),
      execution: fc.integer({ min: 1, max: 30 }),
      sequence: fc.integer({ min: 1, max: 30 }),
    });
    fc.assert(
      fc.property(place, place, (a, b) => {
        const same =
          a.parent === b.parent && a.execution === b.execution && a.sequence === b.sequence;
        expect(childInstanceId(a) === childInstanceId(b)).toBe(same);
      }),
      { numRuns: 2_000 },
    );
  });

  test("gives a parent with the longest id a child id that can be looked up (ids.3)", () => {
    const parent = parseInstanceId("é".repeat(128));
    const child = childInstanceId({ parent, execution: 12, sequence: 49_999 });
    expect(parseInstanceReference(child)).toBe(child);
  });

  test("refuses a nested id longer than 1,024 bytes and names the way out", () => {
    const parent = "é".repeat(510);
    expect(() => childInstanceId({ parent, execution: 1, sequence: 7 })).toThrow(refused);
    expect(() => childInstanceId({ parent, execution: 1, sequence: 7 })).toThrow(
      "give this child an explicit id",
    );
  });
});

describe("showValue", () => {
  test.each<[unknown, string]>([
    ["a", '"a"'],
    ['a"b', '"a\\"b"'],
    ["a\nb\u007f\u0085", '"a\\nb\\u007f\\u0085"'],
    ["\ud83d", '"\\ud83d"'],
    [42, "42"],
    [null, "null"],
    [undefined, "undefined"],
    [Symbol("a\nb"), "Symbol(a\\u000ab)"],
    [[1], "(an array)"],
    [Object.create(null), "(an object)"],
    [() => 1, "(a function)"],
  ])("shows %j as %s", (value, shown) => {
    expect(showValue(value)).toBe(shown);
  });

  test("cuts after 80 characters, never inside a character", () => {
    expect(showValue("a".repeat(78))).toBe(`"${"a".repeat(78)}"`);
    expect(showValue("a".repeat(79))).toBe(`"${"a".repeat(79)}…`);
    expect(showValue("🚀".repeat(500))).toBe(`"${"🚀".repeat(79)}…`);
  });

  test("any text is shown on one line, well-formed and short", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.nat(0xffff).map((c) => String.fromCharCode(c)) }),
        (text) => {
          const shown = showValue(text);
          expect(shown.isWellFormed()).toBe(true);
          expect(shown).not.toMatch(/\p{Cc}/u);
          expect([...shown].length).toBeLessThanOrEqual(81);
        },
      ),
    );
  });
});
