// Shows the status of an instance by word, icon and colour, so that the status does not depend on colour
// alone.

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

/** A status as text. An unknown status is shown unchanged. */
export function AnyStatusBadge({ status }: { readonly status: string }): ReactElement {
  return isStatus(status) ? (
    <StatusBadge status={status} />
  ) : (
    <span className="badge">{status}</span>
  );
}
