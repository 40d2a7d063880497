// The tab with the streams of an instance: their list, and the entries of the chosen one as they are written.

import type { ReactElement } from "react";
import type { Instance, StreamInfo } from "../../api/types.ts";
import { Empty } from "../../parts/empty.tsx";
import { plural } from "../../parts/format.ts";
import { Loading } from "../../parts/loading.tsx";
import { ProblemNote } from "../../parts/problem-note.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { addressTo, setQuery, useHashLocation } from "../../router/hash-location.ts";
import { StreamTail } from "./stream-tail.tsx";
import { firstShown, useStreams } from "./use-streams.ts";

export function StreamsTab({ instance: { id } }: { readonly instance: Instance }): ReactElement {
  const { query } = useHashLocation();
  const streams = useStreams(id);
  if (streams.data === undefined) {
    if (streams.problem === undefined) return <Loading />;
    return <ProblemNote problem={streams.problem} retry={streams.refresh} />;
  }
  if (streams.data.length === 0) {
    return (
      <Empty icon="stream" title="No streams">
        The code of this instance has not written to a stream. Orchestrations write with{" "}
        <code>ctx.stream(name).write(value)</code>, activities with their <code>stream</code>.
      </Empty>
    );
  }
  const wanted = query.get("stream");
  const chosen = streams.data.find(({ name }) => name === wanted) ?? streams.data[0];
  const settled = query.get("settled") === "true";
  const from = offsetOf(query.get("from"));
  return (
    <div className="stack">
      <ul className="panel streams" aria-label="Streams">
        {streams.data.map((each) => (
          <StreamLine key={each.name} id={id} stream={each} isChosen={each === chosen} />
        ))}
      </ul>
      {chosen === undefined ? null : (
        <StreamTail
          key={`${chosen.name} ${settled} ${from ?? ""}`}
          id={id}
          stream={chosen}
          settled={settled}
          from={from ?? firstShown(chosen)}
          isFromEnd={from === undefined}
          onSettled={(on) => setQuery({ settled: on ? "true" : null })}
          onFrom={(offset) => setQuery({ from: offset === null ? null : String(offset) })}
        />
      )}
    </div>
  );
}

function StreamLine({
  id,
  stream: { name, first, next, isClosed, updatedAt },
  isChosen,
}: {
  readonly id: string;
  readonly stream: StreamInfo;
  readonly isChosen: boolean;
}): ReactElement {
  const query = new URLSearchParams({ tab: "streams", stream: name });
  return (
    <li>
      <a
        className="stream-line"
        href={addressTo(["instances", id], query)}
        aria-current={isChosen ? "true" : undefined}
      >
        <strong className="mono wrap grow">{name}</strong>
        {isClosed ? <span className="tag">closed</span> : null}
        <span className="muted">{plural(next - first, "entry", "entries")}</span>
        <span className="faint">
          <TimeAgo at={updatedAt} />
        </span>
      </a>
    </li>
  );
}

function offsetOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
