// An instance, for people: a heading, what is to be said about it, what it waits for.

import type { InstanceInfo, WaitingFor } from "../client/instance-info.ts";
import { tellBlock } from "./block-text.ts";
import { tellEnding } from "./ending-text.ts";
import { shortVersion, withoutFlow } from "./flow-names.ts";
import { bold, dim, yellow, type Piece, type Screen } from "./screen.ts";
import { showStatus } from "./status-text.ts";
import { showAge, showTime } from "./times.ts";
import { showValue } from "./values.ts";

const LABEL = 12;

export function tellInstance(screen: Screen, info: InstanceInfo, now: number): void {
  const { version = "", parent, paused, cancelled, blocked, completedAt } = info;
  const fact = (label: string, ...pieces: readonly Piece[]): void =>
    screen.line(dim(label.padEnd(LABEL)), ...pieces);
  const moment = (date: Date): string => `${showTime(date)} (${showAge(date, now)})`;
  screen.line(
    bold(info.id),
    "  ",
    info.name,
    " ",
    dim(shortVersion(version)),
    "  ",
    showStatus(info),
  );
  fact("execution", info.execution, dim("  priority "), info.priority);
  fact("created", moment(info.createdAt));
  fact("updated", moment(info.updatedAt));
  if (completedAt !== undefined) fact("ended", moment(completedAt));
  if (parent !== undefined) fact("parent", parent.id, dim(` (event ${parent.sequence})`));
  const attributes = Object.entries(info.attributes).map(([name, value]) => `${name}=${value}`);
  if (attributes.length > 0) fact("attributes", attributes.join(", "));
  if (info.customStatus !== undefined) fact("status", showValue(info.customStatus));
  if (paused !== undefined) fact("paused", yellow(because(paused)), ` ${moment(paused.at)}`);
  if (cancelled !== undefined) {
    const { at } = cancelled;
    fact("cancelled", yellow(because(cancelled)), at === undefined ? "" : ` ${moment(at)}`);
  }
  if (info.unclaimed !== undefined) fact("waits", yellow(info.unclaimed));
  if (info.unreadable !== undefined) fact("unreadable", yellow(info.unreadable));
  else if (info.status === "completed") fact("output", showValue(info.output, 2_000));
  if (info.error !== undefined) tellEnding(screen, info.id, info.error);
  if (blocked !== undefined) {
    screen.line(bold("Blocked"), dim(` ${moment(blocked.since)}, found by ${blocked.by}`));
    tellBlock(screen, blocked);
  }
  if (info.waitingFor.length === 0) return;
  screen.line();
  screen.line(bold("Waiting for"));
  for (const wait of info.waitingFor) screen.line(...describeWait(wait, now));
}

function because({ reason, by }: { readonly reason: string; readonly by?: string }): string {
  return by === undefined ? reason : `${reason} (${by})`;
}

/** Without what there is of it in another place: for one line. */
export function describeWait(wait: WaitingFor, now: number): Piece[] {
  const head: Piece[] = [dim(`  #${wait.sequence} `), wait.kind, " "];
  switch (wait.kind) {
    case "timer":
      return [...head, `until ${showTime(wait.due)} (${showAge(wait.due, now)})`];
    case "event":
      return [
        ...head,
        bold(wait.name),
        detailsOf(wait.details),
        wait.internal === true ? dim(" (internal)") : "",
      ];
    case "step":
      return [...head, bold(wait.name), attemptOf(wait), lastErrorOf(wait)];
    case "child":
      return [...head, bold(wait.name), dim(" as "), wait.id];
    case "activity": {
      const { name, worker, unclaimed, progress } = wait;
      return [
        ...head,
        bold(wait.node ?? withoutFlow(name)),
        attemptOf(wait),
        worker === undefined ? "" : dim(` on ${worker}`),
        progress === undefined ? "" : ` ${showValue(progress)}`,
        lastErrorOf(wait),
        unclaimed === undefined ? "" : yellow(` ${unclaimed}`),
      ];
    }
  }
}

type Attempted = WaitingFor & { readonly kind: "activity" | "step" };

function attemptOf({ attempt }: Attempted): Piece {
  return attempt === 1 ? dim(", attempt 1") : yellow(`, retrying, attempt ${attempt}`);
}

function lastErrorOf({ lastError }: Attempted): Piece {
  return lastError === undefined ? "" : yellow(` last error: ${lastError}`);
}

function detailsOf(details: unknown): string {
  return details === undefined ? "" : ` ${showValue(details)}`;
}
