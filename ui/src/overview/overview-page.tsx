// The overview page: counts, problems and recent activity.

import type { ReactElement } from "react";
import { store } from "../api/endpoints.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import type { Overview } from "../api/types.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { FirstInstance } from "../parts/first-instance.tsx";
import { Loading } from "../parts/loading.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { Attention } from "./attention.tsx";
import { History } from "./history.tsx";
import { QueueDepths } from "./queue-depths.tsx";
import { RuntimesAlive } from "./runtimes-alive.tsx";
import { StatusTiles } from "./status-tiles.tsx";

/** The server's metrics are at most one second old. */
const FRESH_MS = 1_000;
const EVERY_MS = 10_000;

export function OverviewPage(): ReactElement {
  const { data, problem, refresh } = useLoaded("overview", store.overview, { everyMs: EVERY_MS });
  const followChange = (): void => {
    refresh();
    setTimeout(refresh, FRESH_MS); // the first answer can be older than the change
  };
  useChanges(anything, followChange, FRESH_MS);
  return (
    <>
      <header className="page-head">
        <h1>Overview</h1>
        {data === undefined ? null : (
          <span className="muted">
            {data.store.name} · {data.store.durability}
          </span>
        )}
      </header>
      <div className="stack">
        {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
        {data === undefined ? (
          problem === undefined ? (
            <Loading rows={6} />
          ) : null
        ) : (
          <>
            <StatusTiles metrics={data.metrics} />
            {isEmpty(data) ? <FirstInstance /> : <Attention overview={data} />}
            <History samples={data.samples} sampleMs={data.sampleMs} />
            <div className="columns">
              <QueueDepths queues={data.queues} count={data.queueCount} />
              <RuntimesAlive runtimes={data.runtimes} />
            </div>
          </>
        )}
      </div>
    </>
  );
}

function isEmpty({ metrics }: Overview): boolean {
  return Object.values(metrics.instances).every((count) => count === 0);
}
