// One schedule: rule, next time, latest runs, and buttons to trigger, pause and resume it.

import type { ReactElement } from "react";
import { builtIns, instances } from "../api/endpoints.ts";
import type { Schedule } from "../api/types.ts";
import { anything, useChanges } from "../api/use-changes.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { Elapsed } from "../parts/elapsed.tsx";
import { Empty } from "../parts/empty.tsx";
import { Fact } from "../parts/fact.tsx";
import { formatDateTime, formatDuration } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { InstanceLink } from "../parts/instance-link.tsx";
import { Loading } from "../parts/loading.tsx";
import { Panel } from "../parts/panel.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";
import { addressTo } from "../router/hash-location.ts";
import { missedWords, overlapWords, timesWords } from "./rule-words.ts";
import { ScheduleActions } from "./schedule-actions.tsx";
import { isLive, LastRun, NextTime, ScheduleState } from "./schedule-facts.tsx";

const REFRESH_MS = 1_000;
const EVERY_MS = 10_000;
const RUNS_SHOWN = 20;

export function SchedulePage({ name }: { readonly name: string }): ReactElement {
  const load = (signal: AbortSignal): Promise<Schedule> => builtIns.schedule(name, signal);
  const { data, problem, refresh } = useLoaded(`schedule ${name}`, load, { everyMs: EVERY_MS });
  useChanges(anything, refresh, REFRESH_MS);
  return (
    <div className="stack">
      <header className="instance-head">
        <p className="crumbs">
          <a href={addressTo(["schedules"])}>Schedules</a> ›{" "}
          <a href={addressTo(["instances", name])}>instance of this schedule</a>
        </p>
        <div className="row">
          <h1 className="mono wrap">{name}</h1>
          {data === undefined ? null : <ScheduleState schedule={data} />}
        </div>
        {data === undefined ? null : <ScheduleFacts schedule={data} />}
      </header>
      {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
      {data === undefined ? (
        problem === undefined ? (
          <Loading rows={4} />
        ) : null
      ) : (
        <>
          <ScheduleNotes schedule={data} />
          <ScheduleActions schedule={data} onDone={refresh} />
          <Runs name={name} />
        </>
      )}
    </div>
  );
}

function ScheduleFacts({ schedule }: { readonly schedule: Schedule }): ReactElement {
  const { rule, next, last } = schedule;
  return (
    <dl className="facts">
      {rule === undefined ? null : (
        <Fact name="Rule">
          <span className="mono">{timesWords(rule)}</span>
        </Fact>
      )}
      <Fact name="Next">
        <NextTime schedule={schedule} />{" "}
        {next === undefined ? null : <span className="faint">{formatDateTime(next)}</span>}
      </Fact>
      <Fact name="Last run">
        {last === undefined ? (
          "none yet"
        ) : (
          <>
            <TimeAgo at={last.time} /> <LastRun last={last} />
          </>
        )}
      </Fact>
      {rule === undefined ? null : (
        <>
          <Fact name="Overlap">{overlapWords(rule)}</Fact>
          <Fact name="Missed times">{missedWords(rule)}</Fact>
          {rule.jitterMs === 0 ? null : (
            <Fact name="Jitter">up to {formatDuration(rule.jitterMs)}</Fact>
          )}
          {rule.from === undefined ? null : <Fact name="From">{formatDateTime(rule.from)}</Fact>}
          {rule.until === undefined ? null : <Fact name="Until">{formatDateTime(rule.until)}</Fact>}
        </>
      )}
    </dl>
  );
}

function ScheduleNotes({ schedule }: { readonly schedule: Schedule }): ReactElement | null {
  const note = noteOf(schedule);
  if (note === null) return null;
  return (
    <p className="note" data-tone="warn">
      <Icon name="warning" />
      <span className="grow wrap">{note}</span>
    </p>
  );
}

function noteOf(schedule: Schedule): string | null {
  const { instance, problem } = schedule;
  const apply = "Call schedule.apply(client), or start a worker that registers it";
  if (instance === undefined) return `The schedule has no instance and starts no runs. ${apply}.`;
  if (!isLive(schedule)) {
    return `The schedule is ${instance.status} and starts no runs. Call schedule.apply(client) to start it again.`;
  }
  if (problem !== undefined) return `The rule is not valid, so no run starts: ${problem}`;
  if (instance.paused === undefined) return null;
  const { by, reason } = instance.paused;
  return `Paused${by === undefined ? "" : ` by ${by}`}${reason === "" ? "" : `: ${reason}`}`;
}

function Runs({ name }: { readonly name: string }): ReactElement {
  const query = { "attributes[schedule]": name, limit: RUNS_SHOWN };
  const { data, problem, refresh } = useLoaded(`runs ${name}`, (signal) =>
    instances.list(query, signal),
  );
  useChanges(anything, refresh, REFRESH_MS);
  const all = addressTo(["instances"], new URLSearchParams({ attribute: `schedule=${name}` }));
  return (
    <Panel title="Latest runs" tools={<a href={all}>All runs</a>} isFlush>
      {problem === undefined ? null : <ProblemNote problem={problem} retry={refresh} />}
      {data === undefined ? (
        <Loading rows={3} />
      ) : data.items.length === 0 ? (
        <Empty icon="clock" title="No runs yet" />
      ) : (
        <TableScroll>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Status</th>
                <th scope="col">Run</th>
                <th scope="col">Started</th>
                <th scope="col">Duration</th>
              </tr>
            </thead>
            <tbody>
              {data.items.map(({ id, status, blocked, createdAt, completedAt }) => (
                <tr key={id}>
                  <td>
                    <StatusBadge status={blocked === undefined ? status : "blocked"} />
                  </td>
                  <td>
                    <InstanceLink id={id} />
                  </td>
                  <td>
                    <TimeAgo at={createdAt} />
                  </td>
                  <td>
                    <Elapsed from={createdAt} to={completedAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </Panel>
  );
}
