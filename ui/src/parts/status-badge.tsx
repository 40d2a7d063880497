// An instance's status: a word, a shape and a colour, so that none of them is needed alone.

import type { ReactElement } from "react";
import type { Status } from "../api/types.ts";
import { Icon, type IconName } from "./icon.tsx";

const ICONS: Readonly<Record<Status | "blocked", IconName>> = {
  pending: "clock",
  running: "play",
  paused: "pause",
  completed: "check",
  failed: "cross",
  cancelled: "minus",
  terminated: "stop",
  blocked: "lock",
};

export const STATUSES: readonly Status[] = [
  "pending",
  "running",
  "paused",
  "completed",
  "failed",
  "cancelled",
  "terminated",
];

export function isStatus(text: string): text is Status {
  return (STATUSES as readonly string[]).includes(text);
}

export function StatusBadge({ status }: { readonly status: Status | "blocked" }): ReactElement {
  return (
    <span className="badge" data-status={status}>
      <Icon name={ICONS[status]} />
      {status}
    </span>
  );
}

/** A status that came as a text; one that this dashboard does not know is shown as it is. */
export function AnyStatusBadge({ status }: { readonly status: string }): ReactElement {
  return isStatus(status) ? (
    <StatusBadge status={status} />
  ) : (
    <span className="badge">{status}</span>
  );
}
