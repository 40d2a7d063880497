import { describe, expect, test } from "vitest";
import { clean, cleanJson, cutToWidth, displayWidth } from "../../../src/cli/text/clean-text.ts";

test("clean() leaves no character that a terminal acts on (clean-text.1)", () => {
  const all = Array.from({ length: 0x30000 }, (_, code) => String.fromCodePoint(code)).join("");
  const cleaned = clean(all);
  expect(cleaned).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
  expect(clean(cleaned)).toBe(cleaned);
});

test("an escape sequence names the original character, on one line (clean-text.2)", () => {
  expect(clean("a\x1b[0m\n\r\t\x7f\x9b\u202e\u{e0041}\ud800")).toBe(
    "a\\x1b[0m\\n\\r\\t\\x7f\\x9b\\u202e\\u{e0041}\\ud800",
  );
  expect(clean("Grüße, 世界 ✓ e\u0301")).toBe("Grüße, 世界 ✓ e\u0301");
});

test("cleaned JSON parses to the same value and contains no such character", () => {
  const value = { "\u202e\x7f": ["\x9b", "\u{e0041}", "\u2028", "\x1b", "\ud800", "ü"] };
  const text = cleanJson(value);
  expect(text).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
  expect(JSON.parse(text)).toEqual(value);
});

describe("widths", () => {
  test.each([
    ["abc", 3],
    ["世界", 4],
    ["e\u0301", 1],
    ["👍", 2],
    ["█▒…", 3],
  ])("%s takes %d columns", (text, columns) => expect(displayWidth(text)).toBe(columns));

  test("a text is cut with an ellipsis, never in the middle of a wide character", () => {
    expect(cutToWidth("abcdef", 6)).toBe("abcdef");
    expect(cutToWidth("abcdef", 4)).toBe("abc…");
    expect(cutToWidth("世界世界", 4)).toBe("世…");
  });
});
