// The tab with the log lines of an instance: the stream "perdure.log", live. Lines of earlier attempts stay visible.

import { useState, type ReactElement } from "react";
import { LOG_STREAM } from "../../../../src/core/define/stream.ts";
import { LOG_LEVELS, type LogLevel } from "../../../../src/core/telemetry/log.ts";
import type { Instance } from "../../api/types.ts";
import { Command } from "../../parts/command.tsx";
import { Empty } from "../../parts/empty.tsx";
import { formatExactClock } from "../../parts/format.ts";
import { Loading } from "../../parts/loading.tsx";
import { ProblemNote } from "../../parts/problem-note.tsx";
import { setQuery, useHashLocation } from "../../router/hash-location.ts";
import { ValueBrief, ValueView } from "../../values/value-view.tsx";
import { isAtLeast, lineOf } from "./log-line.ts";
import { writerOf } from "./stream-tail.tsx";
import { TailList, type OpenableRow } from "./tail-list.tsx";
import { TailTools } from "./tail-tools.tsx";
import { firstShown, useStreams } from "./use-streams.ts";
import { useTail } from "./use-tail.ts";

export function LogsTab({ instance: { id } }: { readonly instance: Instance }): ReactElement {
  const streams = useStreams(id);
  if (streams.data === undefined) {
    if (streams.problem === undefined) return <Loading />;
    return <ProblemNote problem={streams.problem} retry={streams.refresh} />;
  }
  const stream = streams.data.find(({ name }) => name === LOG_STREAM);
  if (stream !== undefined) return <Lines id={id} from={firstShown(stream)} />;
  return (
    <Empty icon="stream" title="No log lines">
      Lines of <code>ctx.log</code> and of the <code>log</code> of activities are shown here if the
      worker keeps them. Open it with{" "}
      <Command text="Perdure.open(url, { runtime: { log: { stream: true } } })" />
    </Empty>
  );
}

function Lines({ id, from: given }: { readonly id: string; readonly from: number }): ReactElement {
  const { query } = useHashLocation();
  const level = LOG_LEVELS.find((each) => each === query.get("level")) ?? "trace";
  const [from] = useState(given);
  const [isPaused, setIsPaused] = useState(false);
  const [isFollowing, setIsFollowing] = useState(true);
  const stream = useTail({ id, name: LOG_STREAM, from, settled: false, isPaused, isFollowing });
  const rows = stream.tail.rows.filter(
    (row) => row.kind === "reset" || isAtLeast(lineOf(row.value).level, level),
  );
  return (
    <section className="panel" aria-label="Log">
      <TailTools
        stream={stream}
        isFollowing={isFollowing}
        onPaused={setIsPaused}
        onNewest={() => setIsFollowing(true)}
      >
        <LevelPicker level={level} />
      </TailTools>
      {rows.length === 0 ? (
        <Empty icon="stream" title={`No lines of level ${level} or above`} />
      ) : (
        <TailList
          label="Log lines"
          rows={rows}
          isFollowing={isFollowing}
          onFollowing={setIsFollowing}
        >
          {(row) => <LineRow {...row} />}
        </TailList>
      )}
    </section>
  );
}

function LevelPicker({ level }: { readonly level: LogLevel }): ReactElement {
  return (
    <label className="field">
      <span>Lowest level</span>
      <select
        className="input"
        value={level}
        onChange={({ target: { value } }) => setQuery({ level: value === "trace" ? null : value })}
      >
        {LOG_LEVELS.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}

function LineRow({ row, isOpen, onOpen }: OpenableRow): ReactElement {
  if (row.kind === "reset") {
    return (
      <div className="tail-row" data-kind="reset">
        <span className="grow">
          The {row.call === 0 ? "orchestration" : `activity of ${writerOf(row.call)}`} runs again.
          Its lines above are of an earlier run.
        </span>
      </div>
    );
  }
  const line = lineOf(row.value);
  return (
    <>
      <button
        type="button"
        className="tail-row"
        aria-expanded={isOpen}
        onClick={() => onOpen(!isOpen)}
      >
        <span className="event-time">{line.at === null ? "" : formatExactClock(line.at)}</span>
        <span className="log-level" data-level={line.level}>
          {line.level}
        </span>
        <span className="tail-call">{writerOf(row.call)}</span>
        <span className="grow tail-value">
          {line.message}{" "}
          {line.fields === undefined ? null : <ValueBrief value={line.fields} charsMax={300} />}
        </span>
        {row.isVoid ? <span className="tag">earlier run</span> : null}
      </button>
      {isOpen ? (
        <div className="event-open">
          <ValueView value={row.value} label="the line" />
        </div>
      ) : null}
    </>
  );
}
