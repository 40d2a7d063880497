// Prints an instance: a heading, its facts, and what it waits for.

import type { InterruptedCall } from "../../client/inspect/cancelled.ts";
import type { InstanceInfo, WaitingFor } from "../../client/inspect/instance-info.ts";
import { printBlock } from "./block-text.ts";
import { printEnding } from "./ending-text.ts";
import { shortVersion, withoutFlow } from "./flow-names.ts";
import { repairText } from "./repair-text.ts";
import { bold, dim, yellow, type Piece, type Screen } from "./screen.ts";
import { showStatus } from "./status-text.ts";
import { showAge, showTime } from "./times.ts";
import { showValue } from "./values.ts";
import type { WorkerLiveness } from "./worker-liveness.ts";

const LABEL = 12;
const INTERRUPTED_MAX = 5;

export interface InstanceTextOptions {
  readonly now: number;
  /** The worker that holds the instance. */
  readonly owner: string | undefined;
  readonly liveness: WorkerLiveness;
}

export function printInstance(
  screen: Screen,
  info: InstanceInfo,
  { now, owner, liveness }: InstanceTextOptions,
): void {
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
  if (owner !== undefined) fact("worker", owner, deathNote(owner, liveness));
  if (parent !== undefined) fact("parent", parent.id, dim(` (event ${parent.sequence})`));
  const attributes = Object.entries(info.attributes).map(([name, value]) => {
    return `${name}=${value instanceof Date ? value.toISOString() : value}`;
  });
  if (attributes.length > 0) fact("attributes", attributes.join(", "));
  if (info.context !== undefined) fact("context", showValue(info.context));
  if (info.customStatus !== undefined) fact("status", showValue(info.customStatus));
  if (paused !== undefined) fact("paused", yellow(because(paused)), ` ${moment(paused.at)}`);
  if (cancelled !== undefined) {
    const { at, interrupted = [], cleanedUp } = cancelled;
    fact("cancelled", yellow(because(cancelled)), at === undefined ? "" : ` ${moment(at)}`);
    if (interrupted.length > 0) fact("interrupted", showInterrupted(interrupted));
    if (cleanedUp !== undefined) fact("cleaned up", cleanedUp ? "yes" : yellow("no"));
  }
  for (const repair of info.repairs ?? []) {
    fact("repaired", repairText(repair), dim(` ${moment(repair.at)}`));
  }
  if (info.unclaimed !== undefined) fact("unclaimed", yellow(info.unclaimed));
  if (info.unreadable !== undefined) fact("unreadable", yellow(info.unreadable));
  else if (info.status === "completed") fact("output", showValue(info.output, 2_000));
  if (info.error !== undefined) printEnding(screen, info.id, info.error);
  if (blocked !== undefined) {
    screen.line(bold("Blocked"), dim(` ${moment(blocked.since)}, found by ${blocked.by}`));
    printBlock(screen, blocked);
  }
  if (info.waitingFor.length === 0) return;
  screen.line();
  screen.line(bold("Waiting for"));
  for (const wait of info.waitingFor) screen.line(...describeWait(wait, now, liveness));
}

function because({ reason, by }: { readonly reason: string; readonly by?: string }): string {
  return by === undefined ? reason : `${reason} (${by})`;
}

function deathNote(worker: string, liveness: WorkerLiveness | undefined): Piece {
  const death = liveness?.death(worker);
  return death === undefined ? "" : yellow(` (${death})`);
}

/** One line about one wait. With `liveness` it marks a dead worker. */
export function describeWait(wait: WaitingFor, now: number, liveness?: WorkerLiveness): Piece[] {
  const head: Piece[] = [dim(`  #${wait.sequence} `), wait.kind, " "];
  switch (wait.kind) {
    case "timer":
      return [
        ...head,
        ...(wait.node === undefined ? [] : [bold(wait.node), " "]),
        `until ${showTime(wait.due)} (${showAge(wait.due, now)})`,
      ];
    case "event":
      return [
        ...head,
        bold(wait.name),
        nodeOf(wait),
        detailsOf(wait.details),
        wait.internal === true ? dim(" (internal)") : "",
      ];
    case "step":
      return [...head, bold(wait.name), nodeOf(wait), attemptOf(wait), lastErrorOf(wait)];
    case "child":
      return [...head, bold(wait.name), nodeOf(wait), dim(" as "), wait.id];
    case "callback": {
      const { expiresAt } = wait;
      const until =
        expiresAt === undefined ? "" : ` until ${showTime(expiresAt)} (${showAge(expiresAt, now)})`;
      return [...head, bold(wait.name), until];
    }
    case "ask":
      return [...head, bold(wait.name), dim(" of "), wait.id];
    case "requests":
      return [...head, bold(wait.names.join(", "))];
    case "activity": {
      const { name, worker, unclaimed, progress } = wait;
      return [
        ...head,
        bold(wait.node ?? withoutFlow(name)),
        attemptOf(wait),
        ...(worker === undefined ? [] : [dim(` on ${worker}`), deathNote(worker, liveness)]),
        wait.completesLater === true ? dim(" waits for its completion from outside") : "",
        progress === undefined ? "" : ` ${showValue(progress)}`,
        lastErrorOf(wait),
        unclaimed === undefined ? "" : yellow(` ${unclaimed}`),
      ];
    }
  }
}

/** The node of a flow, if it differs from the name of the call. */
function nodeOf({ node, name }: WaitingFor & { readonly kind: "event" | "child" | "step" }): Piece {
  return node === undefined || node === name ? "" : dim(` of node ${node}`);
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

function showInterrupted(calls: readonly InterruptedCall[]): string {
  const shown = calls.slice(0, INTERRUPTED_MAX).map(({ kind, name, sequence }) => {
    return `${kind === name ? kind : `${kind} ${name}`} (event ${sequence})`;
  });
  const more = calls.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
