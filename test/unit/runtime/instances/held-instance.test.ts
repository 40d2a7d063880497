// The states of a held instance: the tables in the header of held-instance.ts are what the code does.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  isBusy,
  isIdle,
  transition,
  TRANSITIONS,
  type HeldEvent,
  type HeldInstance,
  type HeldState,
} from "../../../../src/runtime/instances/held-instance.ts";

const source = readFileSync(
  new URL("../../../../src/runtime/instances/held-instance.ts", import.meta.url),
  "utf8",
);

/** The cells of the table whose first column has this title. */
function table(title: string): readonly (readonly string[])[] {
  const lines = source.split("\n");
  const first = lines.findIndex((line) => new RegExp(`^//\\s+\\| ${title}\\s`).test(line));
  const rows: string[][] = [];
  for (const line of lines.slice(first + 2)) {
    if (!/^\/\/\s+\|/.test(line)) break;
    const [, ...cells] = line.split("|").map((cell) => cell.trim());
    rows.push(cells);
  }
  return rows;
}

const states = table("state").map(([state = ""]) => state);
/** For each event, the state that follows each state in which the event is legal. */
const documented = Object.fromEntries(
  table("event").map(([event = "", from = "", to = ""]) => [
    event,
    Object.fromEntries(from.split(", ").map((state) => [state, to])),
  ]),
);

function heldIn(state: string): HeldInstance {
  return { id: "order-7", state: state as HeldState } as HeldInstance; // all that a transition reads
}

test("the header's table of transitions is the code's", () => {
  expect(Object.keys(documented)).toHaveLength(6);
  expect(TRANSITIONS).toEqual(documented);
});

test("every event is legal in the states that the header names, and in no other", () => {
  for (const state of states) {
    for (const event of Object.keys(documented)) {
      const held = heldIn(state);
      const next = documented[event]?.[state];
      if (next === undefined) {
        expect(() => transition(held, event as HeldEvent)).toThrow(
          `order-7: ${event} is not legal while ${state}`,
        );
        expect(held.state).toBe(state);
      } else {
        transition(held, event as HeldEvent);
        expect([state, event, held.state]).toEqual([state, event, next]);
      }
    }
  }
});

test("every state is reached by an event, and only a released instance stays as it is", () => {
  const reached = new Set(Object.values(documented).flatMap((next) => Object.values(next)));
  expect([...reached].sort()).toEqual([...states].sort());
  const left = new Set(Object.values(documented).flatMap((next) => Object.keys(next)));
  expect(states.filter((state) => !left.has(state))).toEqual(["released"]);
});

test("the states that the header calls busy are the busy ones", () => {
  for (const [state = "", meaning = ""] of table("state")) {
    expect([state, isBusy(heldIn(state))]).toEqual([state, meaning.startsWith("busy")]);
    expect([state, isIdle(heldIn(state))]).toEqual([state, meaning.startsWith("not busy")]);
  }
});
