// Logic of the dashboard that needs no page: lists, zoom, durations, states of nodes.

import { describe, expect, test } from "vitest";
import type { HistoryEvent, InstanceSummary, Span, Timeline } from "../../../ui/src/api/types.ts";
import { nodeStates } from "../../../ui/src/instance/flow/node-states.ts";
import { missingPages } from "../../../ui/src/instance/history/history-pages.ts";
import {
  changedAfter,
  NO_TIMELINE,
  withPage,
} from "../../../ui/src/instance/timeline/timeline-data.ts";
import { moved, ticksOf, within, zoomed } from "../../../ui/src/instance/timeline/view.ts";
import { withFirstPage, withLookedAt, withNextPage } from "../../../ui/src/instances/merge.ts";
import { formatDuration } from "../../../ui/src/parts/format.ts";
import { framesOf } from "../../../ui/src/values/stack.ts";

function item(id: string, priority = 3): InstanceSummary {
  const at = "2026-01-01T00:00:00.000Z";
  const rest = { name: "n", execution: 1, customStatusVersion: 0, attributes: {} };
  return { id, status: "running", priority, createdAt: at, updatedAt: at, ...rest };
}
function ids({ items }: { readonly items: readonly InstanceSummary[] }): string {
  return items.map(({ id }) => id).join("");
}

describe("a list loaded in pages", () => {
  const rows = { items: ["d", "c", "b", "a"].map((id) => item(id)), cursor: "after a" };

  test("grows at its end, without duplicates", () => {
    const grown = withNextPage(rows, { items: [item("a"), item("0")] });
    expect([ids(grown), grown.cursor]).toEqual(["dcba0", undefined]);
  });

  test("replaces the rows that a new first page covers", () => {
    const page = { items: [item("e"), item("d", 1), item("b")], cursor: "after b" };
    const fresh = withFirstPage(rows, page);
    expect([ids(fresh), fresh.cursor]).toEqual(["edba", "after a"]);
    expect(fresh.items[1]?.priority).toBe(1);
  });

  test("starts over when there would be a gap", () => {
    const page = { items: [item("z"), item("y")], cursor: "after y" };
    expect(withFirstPage(rows, page)).toEqual({ items: page.items, cursor: "after y" });
  });

  test("drops deleted rows and updates refreshed ones", () => {
    expect(ids(withLookedAt(rows, ["c", "b"], [item("b", 1)]))).toBe("dba");
  });
});

describe("the visible time range", () => {
  const whole = { from: 0, to: 1_000 };

  test("keeps the moment under the pointer in place", () => {
    expect(zoomed(whole, whole, 0.5, 250)).toEqual({ from: 125, to: 625 });
  });

  test("never leaves the whole range", () => {
    expect(zoomed({ from: 0, to: 10 }, whole, 1_000, 5)).toEqual(whole);
    expect(moved({ from: 900, to: 1_000 }, whole, 0.5)).toEqual({ from: 900, to: 1_000 });
    expect(within({ from: -50, to: 50 }, whole)).toEqual({ from: 0, to: 100 });
  });

  test("has marks at round distances from the beginning", () => {
    const labels = ticksOf({ from: 5_000, to: 65_000 }, 5_000, 6).map(({ label }) => label);
    expect(labels).toEqual(["0", "+10 s", "+20 s", "+30 s", "+40 s", "+50 s", "+1 min"]);
  });
});

test("durations have at most two units, and never show 60 of a unit", () => {
  const shown = [0, 0.4, 999, 1_000, 59_949, 59_960, 61_000, 3_599_900, 90_000_000].map(
    formatDuration,
  );
  expect(shown).toEqual([
    ...["0 ms", "<1 ms", "999 ms", "1 s", "59.9 s", "1 min", "1 min 1 s", "1 h", "1 d 1 h"],
  ]);
});

test("an update of a timeline begins at the oldest open span", () => {
  const page = (spans: readonly Span[]): Timeline => ({
    execution: 1,
    events: 9,
    spans: [...spans],
    marks: [],
  });
  const first = withPage(NO_TIMELINE, 0, page([span(2, "a", "completed"), span(3, "b", "open")]));
  expect(changedAfter(first)).toBe(2);
  const next = withPage(first, 2, page([span(3, "b", "completed"), span(5, "c", "open")]));
  expect(next.spans.map(({ outcome }) => outcome)).toEqual(["completed", "completed", "open"]);
});

test("only the missing pages of a history are requested", () => {
  const events = new Map<number, HistoryEvent>();
  const put = (sequence: number): void =>
    void events.set(sequence, { sequence, kind: "x", at: "", version: 1 });
  for (let sequence = 1; sequence <= 200; sequence++) put(sequence);
  expect(missingPages(events, { first: 190, last: 200 })).toEqual([]);
  expect(missingPages(events, { first: 190, last: 410 })).toEqual([200, 400]);
  for (let sequence = 201; sequence <= 300; sequence++) put(sequence);
  expect(missingPages(events, { first: 290, last: 320 })).toEqual([300]);
});

describe("the states of a flow's nodes", () => {
  const paths = ["charge", "fork", "fork.mail/send", "refine", "refine/step", "wait", "last"];
  const states = (spans: readonly Span[], isOver = false): string[] =>
    [...nodeStates(paths, spans, isOver).values()].map(({ state }) => state);

  test("iterations are summed up, and a node with children takes their state", () => {
    const spans = [
      span(2, "charge", "completed"),
      span(4, "fork.mail/send", "failed"),
      span(6, "refine#0/step", "completed"),
      span(8, "refine#1/step", "open"),
    ];
    expect(states(spans)).toEqual([
      ...["completed", "failed", "failed", "running", "running", "idle", "idle"],
    ]);
    expect(nodeStates(paths, spans, false).get("refine/step")).toMatchObject({
      runs: 2,
      completed: 1,
    });
  });

  test("the timeout of a wait is not the wait, and a node that is never reached is skipped", () => {
    const wait = { ...span(2, "wait", "open"), kind: "event" } as const;
    const timer = { ...span(3, "wait", "open"), kind: "timer" } as const;
    expect(states([wait, timer])[5]).toBe("waiting");
    const ended = [
      { ...wait, outcome: "completed" },
      { ...timer, outcome: "cancelled" },
    ] as const;
    expect(states(ended, true).slice(4)).toEqual(["skipped", "completed", "skipped"]);
  });
});

test("the application's own lines of a stack are marked", () => {
  const stack = `Error: x
    at charge (file:///app/src/shop.ts:3:9)
    at async run (/app/node_modules/perdure/dist/core/run.js:1:1)
    at node:internal/process/task_queues:105:5`;
  expect(framesOf(stack).map(({ isOwn, call, source }) => [isOwn, call, source])).toEqual([
    [true, "charge", "/app/src/shop.ts:3:9"],
    [false, "async run", "/app/node_modules/perdure/dist/core/run.js:1:1"],
    [false, undefined, "node:internal/process/task_queues:105:5"],
  ]);
});

function span(sequence: number, node: string, outcome: Span["outcome"]): Span {
  const from = new Date(sequence * 1_000).toISOString();
  return { sequence, kind: "activity", name: node, node, from, outcome };
}
