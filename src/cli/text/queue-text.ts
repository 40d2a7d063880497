// Formats queues: the table of all queues, and one queue with its kinds of tasks and its keys.

import type { QueueDetail, QueueInfo, QueueKind } from "../../client/queues/read-queues.ts";
import { formatDuration } from "../../core/time/duration.ts";
import { bold, dim, yellow, type Piece, type Screen } from "./screen.ts";
import { printTable } from "./table.ts";
import { showAge, showSpan } from "./times.ts";

export function printQueues(screen: Screen, queues: readonly QueueInfo[], now: number): void {
  if (queues.length === 0) {
    screen.line(dim("No queue has tasks, recent outcomes, failed jobs, a limit or a pause."));
    return;
  }
  printTable<QueueInfo>(
    screen,
    [
      { title: "queue", cell: ({ name }) => name },
      { title: "depth", cell: ({ depth }) => depth },
      { title: "running", cell: ({ running }) => running },
      { title: "delayed", cell: ({ delayed }) => delayed },
      { title: "oldest", cell: showOldest, cut: false },
      { title: "rate", cell: showRate, cut: false },
      { title: "failures", cell: ({ failures }) => failures },
      { title: "state", cell: ({ paused }) => (paused === null ? "" : yellow("paused")) },
      { title: "limit", cell: showLimit },
    ],
    queues,
  );
  printWarnings(screen, queues, now);
}

export function printQueue(screen: Screen, queue: QueueDetail, now: number): void {
  const { name, depth, running, delayed, failures, recent, kinds, topKeys } = queue;
  screen.line(bold(name));
  const rows: readonly (readonly [string, Piece])[] = [
    ["depth", depth],
    ["running", running],
    ["delayed", delayed],
    ["oldest", showOldest(queue)],
    ["rate", showRate(queue)],
    ["failures", failures],
    [
      "last minute",
      `${recent.completed} completed, ${recent.failed} failed, ${recent.retried} retried`,
    ],
    ["limit", showLimit(queue) || "none"],
  ];
  for (const [what, value] of rows) screen.line(dim(what.padEnd(WIDTH)), value);
  printWarnings(screen, [queue], now);
  if (kinds.length > 0) {
    screen.line();
    printTable<QueueKind>(
      screen,
      [
        { title: "tags", cell: ({ tags }) => tags.join(", ") || dim("untagged") },
        { title: "priority", cell: ({ priority }) => priority },
        { title: "waiting", cell: ({ waiting }) => waiting },
        { title: "running", cell: (kind) => kind.running },
        { title: "delayed", cell: (kind) => kind.delayed },
      ],
      kinds,
    );
  }
  if (topKeys.length > 0) {
    screen.line();
    printTable(
      screen,
      [
        { title: "key", cell: ({ key }) => key },
        { title: "waiting", cell: ({ waiting }) => waiting },
        { title: "running", cell: (one) => one.running },
      ],
      topKeys,
    );
  }
}

const WIDTH = 13;

function printWarnings(screen: Screen, queues: readonly QueueInfo[], now: number): void {
  for (const { name, paused, unclaimed } of queues) {
    if (paused !== null) {
      const { reason, by, at } = paused;
      const why = reason === undefined ? "" : `: ${reason}`;
      const who = by === undefined ? "" : ` by ${by}`;
      screen.line(yellow("! "), `${name} was paused ${showAge(at, now)}${who}${why}`);
    }
    if (unclaimed !== undefined) screen.line(yellow("! "), unclaimed);
  }
}

function showOldest({ oldestAgeMs }: QueueInfo): string {
  return oldestAgeMs === null ? "" : showSpan(oldestAgeMs);
}

function showRate({ rate }: QueueInfo): string {
  return rate === 0 ? "" : `${rate < 10 ? rate.toFixed(2) : Math.round(rate)}/s`;
}

function showLimit({ limit }: QueueInfo): string {
  if (limit === null) return "";
  const { concurrency, perKey, rate, fair } = limit;
  return [
    ...(concurrency === undefined ? [] : [`${concurrency} at a time`]),
    ...(perKey === undefined ? [] : [`${perKey} per key`]),
    ...(rate === undefined ? [] : [`${rate.count} per ${formatDuration(rate.perMs)}`]),
    ...(fair === undefined ? [] : ["fair"]),
  ].join(", ");
}
