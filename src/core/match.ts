// Matching: whether a command asked for in replay is the one that history holds.
//   M1. Compared is what the rule book's table names (reference rules 2.D.7, semantics 3): kind, name, input,
//       session and tags for activities; name for steps and waits; name and input for children, the id only
//       where the caller chose it; kind alone for timers. What tuning may change is not compared.
//   M2. A cancel must name the same task.

import type { CommandBody, EventBody, TerminalBody } from "./history-events.ts";

export function sameCommand(recorded: EventBody, asked: CommandBody): boolean {
  switch (asked.kind) {
    case "ActivityScheduled":
      return (
        recorded.kind === "ActivityScheduled" &&
        recorded.name === asked.name &&
        recorded.input === asked.input &&
        recorded.session === asked.session &&
        sameTags(recorded.tags, asked.tags)
      );
    case "StepScheduled":
      return recorded.kind === "StepScheduled" && recorded.name === asked.name;
    case "TimerCreated":
      return recorded.kind === "TimerCreated";
    case "EventSubscribed":
      return (
        recorded.kind === "EventSubscribed" &&
        recorded.name === asked.name &&
        recorded.since === asked.since
      );
    case "ChildScheduled":
      return (
        recorded.kind === "ChildScheduled" &&
        recorded.name === asked.name &&
        recorded.input === asked.input &&
        recorded.explicitId === asked.explicitId &&
        (asked.explicitId === undefined || recorded.id === asked.id)
      );
    case "DetachedStarted":
      return (
        recorded.kind === "DetachedStarted" &&
        recorded.name === asked.name &&
        recorded.id === asked.id &&
        recorded.input === asked.input
      );
    case "ActivityCancelRequested":
    case "StepCancelRequested":
    case "TimerCancelled":
    case "EventSubscriptionCancelled":
    case "ChildCancelRequested":
      return recorded.kind === asked.kind && recorded.scheduled === asked.scheduled;
  }
}

export function sameTerminal(recorded: EventBody, asked: TerminalBody): boolean {
  return recorded.kind === asked.kind;
}

function sameTags(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((tag, index) => tag === b[index]);
}
