// The schedules: their rules, their next times and their latest runs.

import type { ReactElement } from "react";
import { builtIns } from "../api/endpoints.ts";
import type { Schedule } from "../api/types.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Empty } from "../parts/empty.tsx";
import { plural } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Panel } from "../parts/panel.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";
import { LastRun, NextTime, ScheduleState } from "./schedule-facts.tsx";
import { timesWords } from "./rule-words.ts";

const REFRESH_MS = 1_000;
const EVERY_MS = 10_000;

export function SchedulesPage(): ReactElement {
  const { data, problem, refresh } = useLoaded("schedules", builtIns.schedules, {
    everyMs: EVERY_MS,
  });
  useChanges(anything, refresh, REFRESH_MS);
  return (
    <>
      <header className="page-head">
        <h1>Schedules</h1>
      </header>
      <div className="stack">
        {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
        {data === undefined ? (
          problem === undefined ? (
            <Loading rows={4} />
          ) : null
        ) : (
          <Panel title={plural(data.length, "schedule")} isFlush>
            {data.length === 0 ? (
              <Empty icon="clock" title="No running worker registers a schedule">
                A schedule appears here when a worker registers it.
              </Empty>
            ) : (
              <ScheduleTable schedules={data} />
            )}
          </Panel>
        )}
      </div>
    </>
  );
}

function ScheduleTable({ schedules }: { readonly schedules: readonly Schedule[] }): ReactElement {
  return (
    <TableScroll>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Schedule</th>
            <th scope="col">Rule</th>
            <th scope="col">Next</th>
            <th scope="col">Last run</th>
          </tr>
        </thead>
        <tbody>
          {schedules.map((schedule) => (
            <tr key={schedule.name}>
              <td>
                <div className="row">
                  <a className="mono wrap" href={addressTo(["schedules", schedule.name])}>
                    {schedule.name}
                  </a>
                  <ScheduleState schedule={schedule} />
                </div>
                {schedule.problem === undefined ? null : (
                  <span className="list-trouble wrap">{schedule.problem}</span>
                )}
              </td>
              <td className="mono">
                {schedule.rule === undefined ? "" : timesWords(schedule.rule)}
              </td>
              <td>
                <NextTime schedule={schedule} />
              </td>
              <td>
                {schedule.last === undefined ? (
                  <span className="faint">none yet</span>
                ) : (
                  <>
                    <TimeAgo at={schedule.last.time} /> <LastRun last={schedule.last} />
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
