// Which differences between a recorded command and the command of a replay are a mismatch (semantics 3), per command.

import { expect, test } from "vitest";
import type { CommandBody, EventBody } from "../../../../src/core/history/events.ts";
import {
  sameCommand,
  sameKindAndName,
  sameTerminal,
} from "../../../../src/core/history/matching.ts";
import { defaultCodec, type Codec } from "../../../../src/core/values/codec.ts";

interface Compared {
  readonly command: CommandBody;
  /** Each of these members makes a different command. */
  readonly differs: Readonly<Record<string, unknown>>;
  /** A deploy may change these members. */
  readonly ignored?: Readonly<Record<string, unknown>>;
}

const input = "1";
const COMMANDS: readonly Compared[] = [
  {
    command: { kind: "ActivityScheduled", name: "a", input, session: "s", tags: ["x", "y"] },
    differs: { name: "b", input: "2", session: "t", tags: ["x", "z"], node: "n" },
    ignored: { timeoutMs: 5, retry: { maxAttempts: 2 }, priority: 3, queueKey: "k" },
  },
  {
    command: { kind: "ActivityScheduled", name: "a", input, node: "n", session: "s" },
    differs: { name: "b", input: "2", node: "m" },
    ignored: { session: "t", tags: ["x"] },
  },
  {
    command: { kind: "StepScheduled", name: "a" },
    differs: { name: "b" },
    ignored: { timeoutMs: 5, transaction: true },
  },
  {
    command: { kind: "TimerCreated", due: 5, node: "n" },
    differs: { node: "m" },
    ignored: { due: 6, delayMs: 7 },
  },
  {
    command: { kind: "EventSubscribed", name: "a", node: "n", since: "now" },
    differs: { name: "b", node: "m", since: undefined },
    ignored: { details: "d", taken: 4, internal: true },
  },
  {
    command: { kind: "CallbackCreated", name: "a", url: "u", token: "t" } as never,
    differs: { name: "b" },
    ignored: { url: "v" },
  },
  {
    command: { kind: "ChildScheduled", name: "a", id: "i", input, node: "n", explicitId: true },
    differs: { name: "b", id: "j", input: "2", node: "m", explicitId: undefined },
    ignored: { orchestrationVersion: "2.0.0", priority: 3, delayMs: 4 },
  },
  {
    command: { kind: "ChildScheduled", name: "a", id: "i", input },
    differs: { name: "b", input: "2", explicitId: true },
    ignored: { id: "j" },
  },
  {
    command: { kind: "DetachedStarted", name: "a", id: "i", input },
    differs: { name: "b", id: "j", input: "2" },
    ignored: { priority: 3 },
  },
  {
    command: { kind: "EventRaised", name: "a", id: "i", data: "1" },
    differs: { name: "b", id: "j", data: "2" },
    ignored: { quiet: true },
  },
  { command: { kind: "SendObserved", observed: 3 }, differs: { observed: 4 } },
  {
    command: { kind: "AskSent", name: "a", id: "i", input } as never,
    differs: { name: "b", id: "j", input: "2" },
  },
  {
    command: { kind: "RequestAnswered", received: 3, output: "1" },
    differs: { received: 4, output: "2" },
  },
  { command: { kind: "RequestRefused", received: 3 } as never, differs: { received: 4 } },
  {
    command: { kind: "RequestsServed", names: ["a"] } as never,
    differs: {},
    ignored: { names: ["b"] },
  },
  { command: { kind: "StatusSet", status: "a" }, differs: {}, ignored: { status: "b" } },
  {
    command: { kind: "AttributesSet", attributes: {} },
    differs: {},
    ignored: { attributes: { a: "b" } },
  },
  {
    command: { kind: "KeyValueSet", key: "k", value: "1" },
    differs: { key: "l", value: "2" },
  },
  { command: { kind: "KeyValueCleared", key: "k" }, differs: { key: "l" } },
  ...(
    [
      "ActivityCancelRequested",
      "StepCancelRequested",
      "TimerCancelled",
      "EventSubscriptionCancelled",
      "ChildCancelRequested",
      "AskCancelled",
      "RequestsClosed",
    ] as const
  ).map((kind) => ({
    command: { kind, scheduled: 3 } as CommandBody,
    differs: { scheduled: 4 },
    ignored: { reason: "because" },
  })),
];

function changed(command: CommandBody, key: string, value: unknown): CommandBody {
  return { ...command, [key]: value };
}

test.each(COMMANDS)("a replay accepts $command.kind with the same members", ({ command }) => {
  expect(sameCommand(command, { ...command }, defaultCodec)).toBe(true);
});

test.each(COMMANDS)(
  "a replay refuses $command.kind if one of the compared members differs",
  ({ command, differs }) => {
    for (const [key, value] of Object.entries(differs)) {
      const other = changed(command, key, value);
      expect([key, sameCommand(command, other, defaultCodec)]).toEqual([key, false]);
      expect([key, sameCommand(other, command, defaultCodec)]).toEqual([key, false]);
    }
  },
);

test.each(COMMANDS)(
  "a replay accepts $command.kind with other options that a deploy may change",
  ({ command, ignored = {} }) => {
    for (const [key, value] of Object.entries(ignored)) {
      const other = changed(command, key, value);
      expect([key, sameCommand(command, other, defaultCodec)]).toEqual([key, true]);
    }
  },
);

test("a replay refuses a command of another kind, even with equal members", () => {
  for (const { command } of COMMANDS) {
    const recorded = { ...command, kind: "PatchMarked" } as unknown as EventBody;
    expect([command.kind, sameCommand(recorded, command, defaultCodec)]).toEqual([
      command.kind,
      false,
    ]);
    expect(sameKindAndName(recorded, command)).toBe(false);
  }
});

test("tags of an activity are compared in order, and none are not the same as some", () => {
  const tagged = (tags?: readonly string[]): CommandBody => ({
    ...{ kind: "ActivityScheduled", name: "a", input },
    ...(tags === undefined ? {} : { tags }),
  });
  const lists = [undefined, [], ["x"], ["y"], ["x", "y"], ["y", "x"]];
  for (const [i, a] of lists.entries()) {
    for (const [j, b] of lists.entries()) {
      expect([a, b, sameCommand(tagged(a), tagged(b), defaultCodec)]).toEqual([a, b, i === j]);
    }
  }
});

// matching.1
test("inputs are compared as values, not as texts", () => {
  const texts = new Map([
    ["sealed 1", 5],
    ["sealed 2", 5],
    ["sealed 3", 6],
  ]);
  const codec: Codec = { ...defaultCodec, decode: (text) => texts.get(text) };
  const scheduled = (text: string): CommandBody => ({
    kind: "ActivityScheduled",
    name: "a",
    input: text,
  });
  const same = (a: string, b: string) => sameCommand(scheduled(a), scheduled(b), codec);
  expect(same("sealed 1", "sealed 2")).toBe(true);
  expect(same("sealed 1", "sealed 3")).toBe(false);
});

test("equal texts are not decoded, so an unreadable input matches itself", () => {
  const unreadable: Codec = {
    ...defaultCodec,
    decode: () => {
      throw new Error("no key");
    },
  };
  const command: CommandBody = { kind: "ActivityScheduled", name: "a", input: "sealed" };
  expect(sameCommand(command, { ...command }, unreadable)).toBe(true);
  const other = { ...command, input: "sealed again" };
  expect(() => sameCommand(command, other, unreadable)).toThrow("no key");
});

// matching.1
test("errors in an input are compared without their stacks", () => {
  const withError = (message: string, stack: string, rest: unknown): CommandBody => {
    const error = Object.assign(new TypeError(message), { stack, code: "E", extra: rest });
    const text = defaultCodec.encode({ list: [{ error }], tag: ["~e", "x"] });
    return { kind: "ActivityScheduled", name: "a", input: text };
  };
  const one = withError("bad", "at line 1", 1);
  const sameAs = (other: CommandBody) => sameCommand(one, other, defaultCodec);
  expect(sameAs(withError("bad", "at line 99", 1))).toBe(true);
  expect(sameAs(withError("worse", "at line 1", 1))).toBe(false);
  expect(sameAs(withError("bad", "at line 99", 2))).toBe(false);
});

// semantics 21a
test("for a copied event only the kind and the name count", () => {
  const call: CommandBody = { kind: "ActivityScheduled", name: "a", input };
  expect(sameKindAndName(call, { ...call, input: "2", tags: ["x"] })).toBe(true);
  expect(sameKindAndName(call, { ...call, name: "b" })).toBe(false);
  expect(sameKindAndName({ kind: "StepScheduled", name: "a" }, call)).toBe(false);
  const timer: CommandBody = { kind: "TimerCreated", due: 5 };
  expect(sameKindAndName(timer, { ...timer, due: 6 })).toBe(true);
});

test("an execution must end in the recorded way; its result may differ", () => {
  const completed = { kind: "OrchestrationCompleted", output: "1" } as const;
  expect(sameTerminal(completed, { ...completed, output: "2" })).toBe(true);
  const continued = { kind: "OrchestrationContinuedAsNew", input: "1" } as const;
  expect(sameTerminal(completed, continued)).toBe(false);
});
