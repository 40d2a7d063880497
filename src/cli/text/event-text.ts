// Prints a history event on one line.

import type { Codec } from "../../core/values/codec.ts";
import type { Failure } from "../../core/errors/failure.ts";
import { readableFailure } from "../../core/errors/failure-seal.ts";
import { isCommand, isTerminal, type HistoryEvent } from "../../core/history/events.ts";
import { repairText } from "./repair-text.ts";
import { bold, cyan, dim, green, red, type Screen, type Styled } from "./screen.ts";
import { showSpan } from "./times.ts";
import { showValue } from "./values.ts";

export function printEvent(
  screen: Screen,
  event: HistoryEvent,
  codec: Codec,
  startedAt: number,
): void {
  const when = `+${showSpan(Math.max(event.at - startedAt, 0))}`;
  screen.line(
    dim(`${`#${event.sequence}`.padStart(6)} ${when.padStart(9)}  `),
    kindOf(event),
    ...[nameOf(event), detailsOf(event)].filter((text) => text !== "").map((text) => ` ${text}`),
    dim(payloadOf(event, codec)),
    "failure" in event ? red(failureText(event.failure, codec)) : "",
  );
}

function failureText(failure: Failure, codec: Codec): string {
  const { name, message } = readableFailure(failure, codec);
  return ` ${name}: ${message}`;
}

function kindOf(event: HistoryEvent): Styled {
  if ("failure" in event) return red(event.kind);
  if (isTerminal(event)) return bold(event.kind);
  return isCommand(event) ? cyan(event.kind) : green(event.kind);
}

function nameOf(event: HistoryEvent): string {
  if ("name" in event) return event.name;
  if ("names" in event) return event.names.join(", ");
  if ("change" in event) return event.change;
  if (event.kind === "KeyValueSet" || event.kind === "KeyValueCleared") return event.key ?? "*";
  return "";
}

function detailsOf(event: HistoryEvent): string {
  const of =
    "scheduled" in event
      ? `of #${event.scheduled}`
      : "received" in event
        ? `of #${event.received}`
        : "";
  const due = "due" in event ? `due ${new Date(event.due).toISOString()}` : "";
  const id = "id" in event ? `${isMessage(event) ? "to" : "as"} ${event.id}` : "";
  const from = event.kind === "RequestReceived" ? `from ${event.from?.id ?? "a client"}` : "";
  const reason = "reason" in event ? event.reason : "";
  const attempts =
    "attempts" in event && event.attempts > 1 ? `after ${event.attempts} attempts` : "";
  const repair = "repairs" in event ? `(${repairText(event.repairs.at(-1))})` : "";
  const replaced = "replaced" in event ? "replaced by an operator" : "";
  return [of, id, from, due, reason, attempts, repair, replaced]
    .filter((text) => text !== "")
    .join(" ");
}

/** A message to another instance. Other ids are those of new instances and of received requests. */
function isMessage({ kind }: HistoryEvent): boolean {
  return kind === "EventRaised" || kind === "AskSent";
}

/** The input, output, data or value of the event. A payload that cannot be decoded is shown as stored. */
function payloadOf(event: HistoryEvent, codec: Codec): string {
  const text =
    "input" in event
      ? event.input
      : "output" in event
        ? event.output
        : "data" in event
          ? event.data
          : "value" in event
            ? event.value
            : event.kind === "StatusSet"
              ? event.status
              : null;
  if (text === null) return "";
  try {
    return `  ${showValue(codec.decode(text))}`;
  } catch {
    return `  ${text.slice(0, 200)}`;
  }
}
