// The entries of a stream as they are written. Items that a reset voids stay, struck through.

import { useState, type ReactElement } from "react";
import type { StreamInfo } from "../../api/types.ts";
import { Empty } from "../../parts/empty.tsx";
import { formatCount } from "../../parts/format.ts";
import { ValueBrief, ValueView } from "../../values/value-view.tsx";
import { TailList, type OpenableRow } from "./tail-list.tsx";
import { TailTools } from "./tail-tools.tsx";
import { useTail } from "./use-tail.ts";

export function StreamTail({
  id,
  stream: { name, first },
  settled,
  from: given,
  isFromEnd,
  onSettled,
  onFrom,
}: {
  readonly id: string;
  readonly stream: StreamInfo;
  /** Only what successful calls wrote. */
  readonly settled: boolean;
  readonly from: number;
  /** Whether the page began with the newest entries. */
  readonly isFromEnd: boolean;
  readonly onSettled: (settled: boolean) => void;
  /** Null: the newest entries. */
  readonly onFrom: (offset: number | null) => void;
}): ReactElement {
  const [from] = useState(given);
  const [isPaused, setIsPaused] = useState(false);
  const [isFollowing, setIsFollowing] = useState(isFromEnd);
  const stream = useTail({ id, name, from, settled, isPaused, isFollowing });
  const { tail, state } = stream;
  const shownFrom = tail.rows[0]?.offset ?? from;
  return (
    <section className="panel" aria-label={`Stream ${name}`}>
      <TailTools
        stream={stream}
        isFollowing={isFollowing}
        onPaused={setIsPaused}
        onNewest={() => (isFromEnd ? setIsFollowing(true) : onFrom(null))}
      >
        <label className="check">
          <input
            type="checkbox"
            className="checkbox"
            checked={settled}
            onChange={(event) => onSettled(event.target.checked)}
          />
          <span title="Shows only what successful calls and the orchestration wrote.">
            Settled only
          </span>
        </label>
        <button
          type="button"
          className="button"
          data-size="small"
          disabled={shownFrom <= first}
          onClick={() => onFrom(first)}
        >
          From offset {formatCount(first)}
        </button>
      </TailTools>
      {tail.rows.length === 0 ? (
        <Empty icon="stream" title={state === "over" ? "No entries" : "No entries yet"} />
      ) : (
        <TailList
          label="Entries"
          rows={tail.rows}
          isFollowing={isFollowing}
          onFollowing={setIsFollowing}
        >
          {(row) => <EntryRow {...row} />}
        </TailList>
      )}
    </section>
  );
}

function EntryRow({ row, isOpen, onOpen }: OpenableRow): ReactElement {
  if (row.kind === "reset") {
    return (
      <div className="tail-row" data-kind="reset">
        <span className="event-number">{row.offset}</span>
        <span className="tail-call">{writerOf(row.call)}</span>
        <span className="grow">
          Reset: the call runs again. Its entries from offset {row.from} on are void.
        </span>
      </div>
    );
  }
  return (
    <>
      <button
        type="button"
        className="tail-row"
        data-void={row.isVoid}
        aria-expanded={isOpen}
        onClick={() => onOpen(!isOpen)}
      >
        <span className="event-number">{row.offset}</span>
        <span className="tail-call">{writerOf(row.call)}</span>
        <span className="grow tail-value">
          <ValueBrief value={row.value} charsMax={400} />
        </span>
        {row.isVoid ? <span className="tag">void</span> : null}
      </button>
      {isOpen ? (
        <div className="event-open">
          <ValueView value={row.value} label={`entry ${row.offset}`} />
        </div>
      ) : null}
    </>
  );
}

/** Who wrote the entry. */
export function writerOf(call: number): string {
  return call === 0 ? "orchestration" : `call ${call}`;
}
