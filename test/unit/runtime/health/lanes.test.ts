// Lanes: names take turns, and each name keeps its order.

import { expect, test } from "vitest";
import { Lanes } from "../../../../src/runtime/health/lanes.ts";
import { heapInUse } from "../../../support/garbage.ts";

interface Piece {
  readonly name: string;
  readonly number: number;
}

function taken(lanes: Lanes<Piece>, count: number): string[] {
  return Array.from({ length: count }, () => {
    const piece = lanes.take();
    return piece === null ? "none" : `${piece.name}${piece.number}`;
  });
}

function add(lanes: Lanes<Piece>, name: string, ...numbers: number[]): void {
  for (const number of numbers) lanes.add(name, { name, number });
}

test("LN1: a piece of another name does not wait behind all pieces of the first name", () => {
  const lanes = new Lanes<Piece>();
  add(lanes, "a", 1, 2, 3, 4);
  add(lanes, "b", 1);
  expect(lanes.length).toBe(5);
  expect(taken(lanes, 6)).toEqual(["a1", "b1", "a2", "a3", "a4", "none"]);
  expect(lanes.length).toBe(0);
});

test("LN2: names take turns while pieces are added", () => {
  const lanes = new Lanes<Piece>();
  add(lanes, "a", 1, 2);
  add(lanes, "b", 1, 2);
  expect(taken(lanes, 3)).toEqual(["a1", "b1", "a2"]);
  add(lanes, "a", 3);
  add(lanes, "c", 1);
  expect(taken(lanes, 4).sort()).toEqual(["a3", "b2", "c1", "none"]);
});

test("LN3: a lane of many pieces keeps its order", () => {
  const lanes = new Lanes<Piece>();
  const numbers = Array.from({ length: 5_000 }, (_, index) => index);
  add(lanes, "a", ...numbers);
  expect(taken(lanes, 5_000)).toEqual(numbers.map((number) => `a${number}`));
});

test("LN4: a piece that has left can be garbage-collected while others wait", async () => {
  const lanes = new Lanes<{ readonly value: number }>();
  for (let value = 0; value < 10; value++) lanes.add("name", { value });
  const left = Array.from({ length: 5 }, () => new WeakRef(lanes.take() ?? {}));
  await heapInUse();
  expect(left.filter((piece) => piece.deref() !== undefined)).toHaveLength(0);
  expect(lanes.length).toBe(5);
});
