// The workers page: the workers, what each registers, and its load.

import type { ReactElement } from "react";
import { store } from "../api/endpoints.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Empty } from "../parts/empty.tsx";
import { plural } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { RuntimeCard } from "./runtime-card.tsx";
import { Uncovered } from "./uncovered.tsx";

const REFRESH_MS = 2_000;
const EVERY_MS = 5_000;

export function RuntimesPage(): ReactElement {
  const { data, problem, refresh } = useLoaded("runtimes", store.runtimes, { everyMs: EVERY_MS });
  const overview = useLoaded("overview", store.overview, { everyMs: EVERY_MS });
  useChanges(anything, refresh, REFRESH_MS);
  return (
    <>
      <header className="page-head">
        <h1>Workers</h1>
        {data === undefined ? null : (
          <span className="muted">
            {plural(data.filter(({ alive }) => alive).length, "worker")} running
          </span>
        )}
      </header>
      <div className="stack">
        {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
        {overview.data === undefined ? null : (
          <Uncovered unclaimed={overview.data.metrics.unclaimed} />
        )}
        {data === undefined ? (
          problem === undefined ? (
            <Loading rows={4} />
          ) : null
        ) : data.length === 0 ? (
          <div className="panel">
            <Empty icon="runtimes" title="No worker has registered">
              Instances wait until a worker registers their orchestrations on this store.
            </Empty>
          </div>
        ) : (
          data.map((runtime) => <RuntimeCard key={runtime.id} runtime={runtime} />)
        )}
      </div>
    </>
  );
}
