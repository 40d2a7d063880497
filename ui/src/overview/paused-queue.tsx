// A paused queue in the list of what needs attention.

import type { ReactElement } from "react";
import type { Queue } from "../api/types.ts";
import { plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";

export function PausedQueue({ queue }: { readonly queue: Queue }): ReactElement {
  const { name, depth, paused } = queue;
  return (
    <li data-status="paused">
      <Icon name="pause" />
      <div className="grow">
        Queue{" "}
        <a className="mono wrap" href={addressTo(["queues", name])}>
          {name}
        </a>{" "}
        is paused, {plural(depth, "task")} waiting
        {paused?.reason === undefined ? null : (
          <p className="muted attention-text">{paused.reason}</p>
        )}
      </div>
      {paused === undefined ? null : <TimeAgo at={paused.at} />}
    </li>
  );
}
