// When the soak reports growth.

import { expect, test } from "vitest";
import { flatness } from "./flatness.ts";

const MB = 1_000_000;
const samples = (sizeAt: (index: number) => number): number[] =>
  Array.from({ length: 20 }, (_, index) => sizeAt(index) * MB);

test("a heap that goes up and down is flat", () => {
  expect(flatness(samples((index) => 60 + (index % 3)))?.isFlat).toBe(true);
});

test("growth during the warm-up does not count", () => {
  expect(flatness(samples((index) => (index < 5 ? 10 * index : 50)))?.isFlat).toBe(true);
});

test("a heap that grows by 3 MB per sample is not flat", () => {
  expect(flatness(samples((index) => 50 + 3 * index))?.isFlat).toBe(false);
});

test("three more connections are growth if the tolerance is two", () => {
  const connections = Array.from({ length: 20 }, (_, index) => (index < 15 ? 8 : 11));
  expect(flatness(connections, { share: 0, absolute: 2 })?.isFlat).toBe(false);
  expect(flatness(connections, { share: 0, absolute: 3 })?.isFlat).toBe(true);
});

test("three samples are too few for an answer", () => {
  expect(flatness([MB, MB, MB])).toBeNull();
});
