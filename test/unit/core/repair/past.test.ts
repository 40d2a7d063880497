// What the next execution begins with: what a cut keeps, what it drops and what it puts back (repair.past.1 to
// repair.past.5).

import { expect, test } from "vitest";
import type { EventBody } from "../../../../src/core/history/events.ts";
import type { Message } from "../../../../src/core/provider/messages.ts";
import {
  isOutcome,
  isRefusedSend,
  openChildren,
  pastBefore,
  pendingOutcome,
} from "../../../../src/core/repair/past.ts";
import {
  called,
  calledDone,
  calledFailed,
  ran,
  ranDone,
  ranFailed,
  received,
  returned,
  slept,
  sleptDone,
  stepped,
  steppedDone,
  steppedFailed,
  threw,
  waited,
} from "../../../replay/bodies.ts";
import { ASK, askDone, historyOf, QUIET_SEND, SEND, sendFailed, sent } from "./support.ts";

/** The outcomes as `kind sequence`. */
function kept(before: number, ...bodies: readonly EventBody[]): readonly string[] {
  return pastBefore(historyOf(...bodies), before).outcomes.map(
    ({ kind, sequence }) => `${kind} ${sequence}`,
  );
}

test("repair.past.1: events before the cut are copied, the others are dropped", () => {
  const events = historyOf(ran("a"), ranDone(2), ran("b"), threw(new Error("x")));
  const past = pastBefore(events, 4);
  expect(past.copied).toEqual(events.slice(0, 3));
  expect(past.dropped).toEqual(events.slice(3));
  expect([past.before, past.started]).toEqual([4, events[0]]);
  expect(past.open).toEqual([]);
});

test("repair.past.1: state is as of the cut", () => {
  const status = (text: string): EventBody => ({ kind: "StatusSet", status: text });
  const past = pastBefore(historyOf(status("one"), status("two"), threw(new Error("x"))), 3);
  expect(past.state.status).toBe("one");
});

test("repair.past.2: successful outcomes after the cut are kept, in order, with their bodies", () => {
  const bodies = [ran("a"), stepped("s"), called("c", "i::2"), ASK, slept(5), SEND];
  const outcomes = [askDone(5), ranDone(2, "A"), steppedDone(3), calledDone(4), sleptDone(6)];
  const past = pastBefore(historyOf(...bodies, ...outcomes, sent(7)), 8);
  expect(past.outcomes).toEqual([
    { kind: "answer", sequence: 5, data: JSON.stringify(askDone(5)) },
    { kind: "activity", sequence: 2, data: JSON.stringify(ranDone(2, "A")) },
    { kind: "step", sequence: 3, data: JSON.stringify(steppedDone(3)) },
    { kind: "child", sequence: 4, data: JSON.stringify(calledDone(4)) },
    { kind: "timer", sequence: 6, data: "" },
    { kind: "sent", sequence: 7, data: JSON.stringify(sent(7)) },
  ]);
  expect(past.open.map(({ scheduled }) => scheduled.sequence)).toEqual([2, 3, 4, 5, 6]);
});

test("repair.past.2: failed outcomes are dropped, so their calls are done again", () => {
  const error = new Error("x");
  const bodies = [ran("a"), stepped("s"), called("c", "i::2")];
  const failures = [ranFailed(2, error), steppedFailed(3, error), calledFailed(4, error)];
  expect(kept(5, ...bodies, ...failures)).toEqual([]);
});

test("repair.past.2: outcomes of calls after the cut are dropped with their calls", () => {
  const bodies = [ran("a"), ran("b"), slept(5), ranDone(3), sleptDone(4), ranDone(2)];
  expect(kept(3, ...bodies)).toEqual(["activity 2"]);
});

test("repair.past.2: outcomes before the cut are part of the copy and not kept twice", () => {
  expect(kept(4, ran("a"), ranDone(2), ran("b"), ranDone(4))).toEqual([]);
});

test("repair.past.3: events received after the cut go back in order, with their keys", () => {
  const keyed = { ...received("two", 2), key: "k" } as EventBody;
  const past = pastBefore(historyOf(received("early"), waited("w"), received("one", 1), keyed), 3);
  expect(past.events).toEqual([
    { name: "one", data: "1", key: null },
    { name: "two", data: "2", key: "k" },
  ]);
});

test("repair.past.3: a callback's value goes back only if its callback is before the cut", () => {
  const value = (sequence: number, headers?: string): EventBody => ({
    ...{ kind: "EventReceived", name: `perdure.callback:${sequence}`, data: "7", key: "k" },
    ...(headers === undefined ? {} : { headers }),
  });
  const events = historyOf(
    waited("a"),
    waited("b"),
    waited("c"),
    value(2, "{}"),
    value(3),
    value(4),
  );
  expect(pastBefore(events, 4).events).toEqual([
    { name: "perdure.callback:2", data: '{"value":"7","headers":"{}"}', key: "k" },
    { name: "perdure.callback:3", data: '{"value":"7"}', key: "k" },
  ]);
});

test("repair.past.4: requests received after the cut do not come back", () => {
  const request = { kind: "RequestReceived", name: "q", id: "r", input: "1" } as EventBody;
  expect(pastBefore(historyOf(ran("a"), request), 3).events).toEqual([]);
});

test("repair.past.5: a copied message without a recorded outcome counts as delivered", () => {
  const past = pastBefore(historyOf(SEND, ran("a")), 3);
  const data = JSON.stringify({ kind: "SendCompleted", scheduled: 2 });
  expect(past.outcomes).toEqual([{ kind: "sent", sequence: 2, data }]);
  expect(kept(2, SEND, ran("a"))).toEqual([]); // the code sends it again
});

test("repair.past.5: a message with an outcome is not delivered a second time, and a refused one is sent again", () => {
  expect(kept(4, SEND, sent(2))).toEqual([]);
  expect(kept(3, SEND, sent(2))).toEqual(["sent 2"]);
  expect(kept(3, SEND, sendFailed(2))).toEqual([]);
});

test("repair.past.5: a message that the code does not wait for gets no outcome until the code observes it", () => {
  const observe: EventBody = { kind: "SendObserved", observed: 2 };
  expect(kept(4, QUIET_SEND, ran("a"))).toEqual([]);
  expect(kept(4, QUIET_SEND, observe)).toEqual(["sent 2"]);
  expect(kept(3, QUIET_SEND, observe)).toEqual([]);
});

test("an execution whose code never ran has no past to continue", () => {
  const [first, ...rest] = historyOf(ran("a"));
  if (first?.kind !== "OrchestrationStarted") throw new Error("no start");
  const refused = { name: "Error", message: "bad input" } as never;
  for (const start of [
    { ...first, unchecked: true as const },
    { ...first, refused },
  ]) {
    expect(() => pastBefore([start, ...rest], 2)).toThrow("before its code ran");
  }
  expect(() => pastBefore([], 2)).toThrow("no history yet");
  expect(() => pastBefore(rest, 9)).toThrow("no history yet");
});

test("a cut after the end of the execution is refused", () => {
  const events = historyOf(ran("a"), ranDone(2), returned(1));
  expect(() => pastBefore(events, 5)).toThrow("must not be after the event that ended");
  expect(pastBefore(events, 4).copied).toHaveLength(3);
});

test("open children are those without an outcome before or after the cut", () => {
  const calls = [called("c", "one"), called("c", "two"), called("c", "three"), ran("a")];
  const past = pastBefore(historyOf(...calls, calledDone(2), calledDone(3)), 7);
  expect(openChildren(past).map(({ id }) => id)).toEqual(["three"]);
});

function message(kind: string, data: string, sequence: number | null = 2): Message {
  return { kind, data, sequence } as unknown as Message;
}

test("repair.past.2: of the waiting messages, only successes of calls before the cut are kept", () => {
  const success = JSON.stringify(ranDone(2, "A"));
  const expected = { kind: "activity", sequence: 2, data: success };
  expect(pendingOutcome(message("activity", success), 3)).toEqual(expected);
  const failure = JSON.stringify(ranFailed(2, new Error("x")));
  for (const [waiting, before] of [
    [message("activity", success), 2],
    [message("activity", success, null), 3],
    [message("activity", failure), 3],
    [message("activity", "{"), 3],
    [message("activity", "null"), 3],
  ] as const) {
    expect(pendingOutcome(waiting, before)).toBeNull();
  }
});

test("messages of calls are outcomes; events, cancels and timers are not", () => {
  for (const kind of ["activity", "step", "child", "answer", "sent"] as const) {
    expect([kind, isOutcome(kind)]).toEqual([kind, true]);
  }
  for (const kind of ["event", "cancel", "timer", "start"] as const) {
    expect([kind, isOutcome(kind)]).toEqual([kind, false]);
  }
});

test("a refused message is recognized by its kind and its contents", () => {
  const refused = JSON.stringify(sendFailed(2));
  expect(isRefusedSend(message("sent", refused))).toBe(true);
  expect(isRefusedSend(message("sent", JSON.stringify(sent(2))))).toBe(false);
  expect(isRefusedSend(message("event", refused))).toBe(false);
  expect(isRefusedSend(message("sent", "not JSON"))).toBe(false);
});
