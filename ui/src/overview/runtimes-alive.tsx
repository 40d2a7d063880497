// The running workers and their load.

import type { ReactElement } from "react";
import type { Runtime } from "../api/types.ts";
import { Empty } from "../parts/empty.tsx";
import { plural } from "../parts/format.ts";
import { Panel } from "../parts/panel.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";

const SHOWN = 8;

export function RuntimesAlive({
  runtimes,
}: {
  readonly runtimes: readonly Runtime[];
}): ReactElement {
  const alive = runtimes.filter((runtime) => runtime.alive);
  return (
    <Panel
      title={`${plural(alive.length, "worker")} running`}
      isFlush
      tools={<a href={addressTo(["runtimes"])}>All workers</a>}
    >
      {alive.length === 0 ? (
        <Empty icon="runtimes" title="No worker is running">
          Instances wait until a worker registers their orchestrations on this store.
        </Empty>
      ) : (
        <ul className="alive">
          {alive.slice(0, SHOWN).map(({ id, hostname, pid, load, lastBeatAt }) => (
            <li key={id}>
              <span className="live" data-state="live" />
              <span className="grow cut">
                {hostname}
                {pid === undefined ? "" : ` · ${pid}`} <span className="faint mono">{id}</span>
              </span>
              <span className="muted">
                {plural(load.instances, "instance")}, {plural(load.tasks, "task")}
              </span>
              <span className="faint">
                <TimeAgo at={lastBeatAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
