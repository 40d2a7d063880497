// The mailbox: which wait gets which event, and which events stay unread (semantics 18).

import { expect, test } from "vitest";
import {
  hasRefused,
  Mailbox,
  rememberRefusal,
  type UnreadMessage,
} from "../../../../src/core/replay/mailbox.ts";

const message = (name: string, sequence: number): UnreadMessage => ({
  name,
  data: `data ${sequence}`,
  key: null,
  sequence,
});
const sequencesOf = (messages: readonly UnreadMessage[]) => messages.map((one) => one.sequence);

test("an event goes to the oldest wait for its name, and each wait gets one event", () => {
  const mailbox = new Mailbox<string>();
  mailbox.wait("a", "first");
  mailbox.wait("b", "other");
  mailbox.wait("a", "second");
  expect(mailbox.waits("a")).toEqual(["first", "second"]);
  expect(mailbox.offer(message("a", 1))).toBe("first");
  expect(mailbox.offer(message("a", 2))).toBe("second");
  expect(mailbox.offer(message("a", 3))).toBeNull();
  expect(mailbox.offer(message("b", 4))).toBe("other");
  expect(sequencesOf(mailbox.unread())).toEqual([3]);
});

test("the code waits for an event as long as one of its waits is open", () => {
  const mailbox = new Mailbox<string>();
  expect([mailbox.isWaiting, mailbox.waits("a")]).toEqual([false, []]);
  mailbox.wait("a", "one");
  mailbox.wait("a", "two");
  mailbox.offer(message("a", 1));
  expect(mailbox.isWaiting).toBe(true);
  mailbox.offer(message("a", 2));
  expect(mailbox.isWaiting).toBe(false);
});

test("an event without a wait stays unread, in order of arrival across all names", () => {
  const mailbox = new Mailbox<string>();
  expect([mailbox.unreadCount, mailbox.unread(), mailbox.unreadOf("a")]).toEqual([0, [], []]);
  for (const [name, sequence] of [
    ["a", 1],
    ["b", 2],
    ["a", 3],
    ["c", 4],
  ] as const) {
    expect(mailbox.offer(message(name, sequence))).toBeNull();
  }
  expect(sequencesOf(mailbox.unread())).toEqual([1, 2, 3, 4]);
  expect(sequencesOf(mailbox.unreadOf("a"))).toEqual([1, 3]);
  expect(mailbox.unreadCounts()).toEqual([
    ["a", 2],
    ["b", 1],
    ["c", 1],
  ]);
  expect(mailbox.unreadCount).toBe(4);
});

test("a new wait takes the oldest unread event of its name", () => {
  const mailbox = new Mailbox<string>();
  for (const sequence of [1, 2]) mailbox.keep(message("a", sequence));
  expect(mailbox.take("b")).toBeNull();
  expect(mailbox.take("a")?.sequence).toBe(1);
  expect(mailbox.unreadCount).toBe(1);
  expect(mailbox.take("a")?.sequence).toBe(2);
  expect(mailbox.take("a")).toBeNull();
  expect([mailbox.unreadCount, mailbox.unreadCounts(), mailbox.unread()]).toEqual([0, [], []]);
});

test("a wait takes the event that its record names, and the others stay in order", () => {
  const mailbox = new Mailbox<string>();
  for (const sequence of [1, 2, 3]) mailbox.keep(message("a", sequence));
  expect(mailbox.take("a", 0)).toBeNull();
  expect(mailbox.take("a", 2)?.sequence).toBe(2);
  expect(mailbox.take("a", 9)).toBeNull();
  expect(mailbox.take("b", 1)).toBeNull();
  expect(sequencesOf(mailbox.unreadOf("a"))).toEqual([1, 3]);
  expect(mailbox.unreadCount).toBe(2);
});

test("after a checkpoint, the event that a wait names may be one without a known number", () => {
  const mailbox = new Mailbox<string>();
  for (const sequence of [0, 0, 7]) mailbox.keep(message("a", sequence));
  expect(mailbox.take("a", 7)?.sequence).toBe(7);
  expect(mailbox.take("a", 5)?.sequence).toBe(0);
  expect(mailbox.take("a", 6)?.sequence).toBe(0);
  expect(mailbox.take("a", 8)).toBeNull();
});

test("a cancelled wait never receives an event", () => {
  const mailbox = new Mailbox<string>();
  for (const wait of ["one", "two", "three"]) mailbox.wait("a", wait);
  mailbox.forget("a", "two");
  mailbox.forget("a", "unknown");
  mailbox.forget("b", "one");
  expect(mailbox.waits("a")).toEqual(["one", "three"]);
  mailbox.forget("a", "one");
  expect(mailbox.isWaiting).toBe(true);
  mailbox.forget("a", "three");
  expect(mailbox.isWaiting).toBe(false);
  expect(mailbox.offer(message("a", 1))).toBeNull();
});

test("an event can be kept unread although a wait is open", () => {
  const mailbox = new Mailbox<string>();
  mailbox.wait("a", "one");
  mailbox.keep(message("a", 1));
  expect([mailbox.waits("a"), mailbox.unreadCount]).toEqual([["one"], 1]);
});

test("a schema's refusal marks only the event that it concerns", () => {
  const mailbox = new Mailbox<string>();
  for (const sequence of [1, 2]) mailbox.keep(message("a", sequence));
  mailbox.refuse("a", 2);
  mailbox.refuse("a", 3);
  mailbox.refuse("b", 1);
  expect(mailbox.unreadOf("a").map(({ isRefused }) => isRefused)).toEqual([undefined, true]);
});

test("a schema that has refused an event is remembered for that event alone", () => {
  const [one, two] = [message("a", 1), message("a", 2)];
  const schemas = [{}, {}] as never[];
  const [strict, other] = schemas as [never, never];
  expect(hasRefused(strict, one)).toBe(false);
  rememberRefusal(strict, one);
  expect([hasRefused(strict, one), hasRefused(other, one), hasRefused(strict, two)]).toEqual([
    ...[true, false, false],
  ]);
  rememberRefusal(other, one);
  expect([hasRefused(strict, one), hasRefused(other, one)]).toEqual([true, true]);
});
