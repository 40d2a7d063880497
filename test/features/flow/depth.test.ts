// Flows with too many nested levels are refused with INVALID_ARGUMENT, for every way of nesting.

import { expect, test } from "vitest";
import { flow, type Flow, type FlowBuilder } from "../../../src/flow/index.ts";
import { parseDefinition } from "../../../src/flow/data/parse-definition.ts";

const REFUSED = {
  code: "INVALID_ARGUMENT",
  message: expect.stringContaining("more than 100 nested levels") as string,
};
const DEEP = 5_000;

type Step = { readonly kind: string; readonly id: string } & Readonly<Record<string, unknown>>;

function definitionOf(levels: number): unknown {
  let nodes: readonly Step[] = [{ kind: "delay", id: "a", delayMs: 1 }];
  for (let level = 1; level < levels; level += 1) {
    nodes = [{ kind: "loop", id: "a", maxIterations: 2, onMax: "fail", nodes }];
  }
  return { format: 1, name: "deep", version: "1.0.0", nodes };
}

test("a definition of 5,000 levels, or with a cycle, is refused", () => {
  const nodes: Step[] = [];
  nodes.push({ kind: "loop", id: "a", maxIterations: 2, onMax: "fail", nodes });
  const cycle = { format: 1, name: "deep", version: "1.0.0", nodes };
  for (const definition of [definitionOf(DEEP), cycle]) {
    expect(() => parseDefinition(definition)).toThrow(expect.objectContaining(REFUSED));
  }
});

test("a definition of 100 levels is accepted", () => {
  expect(parseDefinition(definitionOf(100))).toEqual(definitionOf(100));
});

test("a chain of 5,000 catches is refused when the flow is built", () => {
  let built: FlowBuilder<number, number, never, unknown> = flow<number>("deep").then("a", (n) => n);
  for (let level = 0; level < DEEP; level += 1) {
    built = built.catch(`c${level}`, (f) => f.then("b", () => 0));
  }
  expect(() => built.build()).toThrow(expect.objectContaining(REFUSED));
});

test("nested flow calls are refused from 101 levels on", () => {
  let inner: Flow<number, number, never, unknown> = flow<number>("deep0")
    .then("a", (n) => n)
    .build();
  const nest = (): void => {
    for (let level = 1; level <= DEEP; level += 1) {
      inner = flow<number>(`deep${level}`).call("c", inner).build();
    }
  };
  expect(nest).toThrow(expect.objectContaining(REFUSED));
  expect(inner.name).toBe("deep100");
});
