// Matching: whether a command asked for in replay is the one that history holds.
//   M1. Compared is what the rule book's table names (reference rules 2.D.7, semantics 3): kind, name, input,
//       session and tags for activities; name for steps and waits; name and input for children, the id only
//       where the caller chose it; key and value of key-values; kind alone for timers, status and attributes. What
//       tuning may change is not compared.
//   M2. A cancel must name the same task.
//   M3. Inputs are compared as values: a codec may write one value in many ways (encryption), and the stack of
//       an error names lines and frames that differ from deploy to deploy and from first run to replay.
//   M4. What a flow's node asks for must be of the same node. Its session and tags are tuning, which a deploy may
//       change under running work (semantics 23): what history holds is what was carried out.

import { type Codec, defaultCodec } from "./codec.ts";
import type { CommandBody, EventBody, TerminalBody } from "./history-events.ts";

/** Throws what the codec throws for a recorded value that it cannot read. */
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
    case "StatusSet":
    case "AttributesSet":
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
      return recorded.kind === asked.kind && recorded.scheduled === asked.scheduled;
  }
}

/** In a fork's copied past only kind and name are compared (semantics 21a). */
export function sameKindAndName(recorded: EventBody, asked: CommandBody): boolean {
  if (recorded.kind !== asked.kind) return false;
  const name = "name" in asked ? asked.name : null;
  return name === ("name" in recorded ? recorded.name : null);
}

export function sameTerminal(recorded: EventBody, asked: TerminalBody): boolean {
  return recorded.kind === asked.kind;
}

/** Texts that are equal cost one comparison; only what is about to differ is looked into (M3). */
function sameInput(recorded: string, asked: string, codec: Codec): boolean {
  return recorded === asked || comparable(recorded, codec) === comparable(asked, codec);
}

function comparable(text: string, codec: Codec): string {
  const plain = defaultCodec.encode(codec.decode(text));
  if (!plain.startsWith("~")) return plain;
  return JSON.stringify(JSON.parse(plain.slice(1), (_key, value: unknown) => withoutStack(value)));
}

/** An error is written as ["~e", class, { message, stack, … }, …]. */
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
