// Parts of a schedule that the list and the page show: its state, its next time, its latest run.

import type { ReactElement } from "react";
import type { Schedule } from "../api/types.ts";
import { InstanceLink } from "../parts/instance-link.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { outcomeWords } from "./rule-words.ts";

/** The state, if it is not the usual one. */
export function ScheduleState({
  schedule: { instance },
}: {
  readonly schedule: Schedule;
}): ReactElement | null {
  if (instance === undefined) return <span className="faint">not applied</span>;
  const { status, blocked } = instance;
  if (blocked !== undefined) return <StatusBadge status="blocked" />;
  return status === "running" || status === "pending" ? null : <StatusBadge status={status} />;
}

/** Whether the schedule can start runs. */
export function isLive({ instance }: Schedule): boolean {
  return instance !== undefined && ["pending", "running", "paused"].includes(instance.status);
}

export function NextTime({ schedule }: { readonly schedule: Schedule }): ReactElement {
  const { next, instance } = schedule;
  if (!isLive(schedule)) return <span className="faint">none: it does not run</span>;
  if (instance?.paused !== undefined) return <span className="faint">none: it is paused</span>;
  return next === undefined ? <span className="faint">none</span> : <TimeAgo at={next} />;
}

export function LastRun({
  last: { outcome, id, error },
}: {
  readonly last: NonNullable<Schedule["last"]>;
}): ReactElement {
  const isTrouble = outcome === "failed" || outcome === "late";
  return (
    <>
      <span className={isTrouble ? "list-trouble wrap" : "muted"}>
        {outcomeWords(outcome)}
        {error === undefined ? "" : `: ${error}`}
      </span>{" "}
      {id === undefined ? null : <InstanceLink id={id} />}
    </>
  );
}
