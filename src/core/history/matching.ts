// Matching: whether a command issued in a replay is the command that the history holds.
//   - Replay compares (semantics 3): kind, name, input, session and tags of activities; the name of steps,
//       waits and callbacks; name, receiver and input of requests and events to other instances; the answers to requests; name
//       and input of children, and their id if the caller chose it; key and value of key-values;
//       only the kind of timers, status, attributes and served requests. It does not compare options that a deploy may tune.
//   - A cancel must refer to the same task.
//   - matching.1: Inputs are compared as values. A codec may write one value in many ways (encryption), and
//       the stack of an error names lines and frames that differ between deploys and between first run and
//       replay.
//   - A command of a flow must come from the same node. A deploy may change the session and tags of a node
//       while instances run (semantics 23); the history holds those that were used.

import { type Codec, defaultCodec } from "../values/codec.ts";
import type { CommandBody, EventBody, TerminalBody } from "./events.ts";

/** Throws the codec's error if it cannot read a recorded value. */
export function sameCommand(recorded: EventBody, asked: CommandBody, codec: Codec): boolean {
  switch (asked.kind) {
    case "ActivityScheduled":
      return (
        recorded.kind === "ActivityScheduled" &&
        recorded.name === asked.name &&
        recorded.node === asked.node &&
        sameInput(recorded.input, asked.input, codec) &&
        (asked.node !== undefined ||
          (recorded.session === asked.session && sameTags(recorded.tags, asked.tags)))
      );
    case "StepScheduled":
      return recorded.kind === "StepScheduled" && recorded.name === asked.name;
    case "TimerCreated":
      return recorded.kind === "TimerCreated" && recorded.node === asked.node;
    case "EventSubscribed":
      return (
        recorded.kind === "EventSubscribed" &&
        recorded.name === asked.name &&
        recorded.node === asked.node &&
        recorded.since === asked.since
      );
    case "CallbackCreated": // its address is the recorded one (callback-calls.1)
      return recorded.kind === "CallbackCreated" && recorded.name === asked.name;
    case "ChildScheduled":
      return (
        recorded.kind === "ChildScheduled" &&
        recorded.name === asked.name &&
        recorded.node === asked.node &&
        sameInput(recorded.input, asked.input, codec) &&
        recorded.explicitId === asked.explicitId &&
        (asked.explicitId === undefined || recorded.id === asked.id)
      );
    case "DetachedStarted":
      return (
        recorded.kind === "DetachedStarted" &&
        recorded.name === asked.name &&
        recorded.id === asked.id &&
        sameInput(recorded.input, asked.input, codec)
      );
    case "EventRaised":
      return (
        recorded.kind === "EventRaised" &&
        recorded.name === asked.name &&
        recorded.id === asked.id &&
        sameInput(recorded.data, asked.data, codec)
      );
    case "SendObserved":
      return recorded.kind === "SendObserved" && recorded.observed === asked.observed;
    case "AskSent":
      return (
        recorded.kind === "AskSent" &&
        recorded.name === asked.name &&
        recorded.id === asked.id &&
        sameInput(recorded.input, asked.input, codec)
      );
    case "RequestAnswered":
      return (
        recorded.kind === "RequestAnswered" &&
        recorded.received === asked.received &&
        sameInput(recorded.output, asked.output, codec)
      );
    case "RequestRefused":
      return recorded.kind === "RequestRefused" && recorded.received === asked.received;
    case "StatusSet":
    case "AttributesSet":
    case "RequestsServed": // a deploy may change the names (request-box.2)
      return recorded.kind === asked.kind;
    case "KeyValueSet":
      return (
        recorded.kind === "KeyValueSet" &&
        recorded.key === asked.key &&
        sameInput(recorded.value, asked.value, codec)
      );
    case "KeyValueCleared":
      return recorded.kind === "KeyValueCleared" && recorded.key === asked.key;
    case "ActivityCancelRequested":
    case "StepCancelRequested":
    case "TimerCancelled":
    case "EventSubscriptionCancelled":
    case "ChildCancelRequested":
    case "AskCancelled":
    case "RequestsClosed":
      return recorded.kind === asked.kind && recorded.scheduled === asked.scheduled;
  }
}

/** The comparison for events that a fork copied: kind and name only (semantics 21a). */
export function sameKindAndName(recorded: EventBody, asked: CommandBody): boolean {
  if (recorded.kind !== asked.kind) return false;
  const name = "name" in asked ? asked.name : null;
  return name === ("name" in recorded ? recorded.name : null);
}

export function sameTerminal(recorded: EventBody, asked: TerminalBody): boolean {
  return recorded.kind === asked.kind;
}

/** Equal texts cost one comparison. Only texts that differ are decoded (matching.1). */
function sameInput(recorded: string, asked: string, codec: Codec): boolean {
  return recorded === asked || comparable(recorded, codec) === comparable(asked, codec);
}

function comparable(text: string, codec: Codec): string {
  const plain = defaultCodec.encode(codec.decode(text));
  if (!plain.startsWith("~")) return plain;
  return JSON.stringify(JSON.parse(plain.slice(1), (_key, value: unknown) => withoutStack(value)));
}

/** Removes the stack of an error, which is encoded as ["~e", class, { message, stack, … }, …]. */
function withoutStack(value: unknown): unknown {
  if (!Array.isArray(value) || value[0] !== "~e") return value;
  const [tag, name, hidden, ...rest] = value as unknown[];
  const { stack: _stack, ...kept } = hidden as { stack?: unknown };
  return [tag, name, kept, ...rest];
}

function sameTags(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((tag, index) => tag === b[index]);
}
