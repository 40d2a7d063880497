import { expect, test } from "vitest";
import { similarName } from "../../../src/cli/options/similar-name.ts";

test.each([
  ["helo", "hello"],
  ["hlelo", "hello"],
  ["Hello", "hello"],
  ["orderShiped", "orderShipped"],
  ["pai", "pay"],
])("%s probably means %s", (name, meant) => {
  expect(similarName(name, ["fulfil", "orderShipped", "pay", "hello"])).toBe(meant);
});

test("a known name, or a name unlike all others, has no similar name", () => {
  expect(similarName("pay", ["pat", "pay"])).toBeUndefined();
  expect(similarName("refund", ["pay", "hello"])).toBeUndefined();
  expect(similarName("refund", [])).toBeUndefined();
});
