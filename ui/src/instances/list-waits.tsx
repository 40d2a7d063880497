// What an instance of the list waits for, in one line. The page of the instance shows all of it.

import type { ReactElement } from "react";
import type { InstanceSummary, Waiting } from "../api/types.ts";
import { retryWords } from "../instance/timeline/span-words.ts";
import { KIND_ICONS } from "../instance/waiting-panel.tsx";
import { formatDateTime } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { TimeAgo } from "../parts/time-ago.tsx";

/** How many waits have words. */
const SHOWN = 2;

export function ListWaits({ item }: { readonly item: InstanceSummary }): ReactElement | null {
  const { waitingFor = [], blocked, paused } = item;
  if (blocked !== undefined) {
    return (
      <span className="list-trouble cut" title={blocked.message}>
        a repair: {blocked.code}
      </span>
    );
  }
  if (paused !== undefined) {
    return (
      <span className="cut" title={paused.reason}>
        a resume: {paused.reason}
      </span>
    );
  }
  // Timers last: most of them are timeouts of what stands before them.
  const waits = waitingFor.toSorted(
    (a, b) => Number(a.kind === "timer") - Number(b.kind === "timer"),
  );
  return (
    <>
      {waits.slice(0, SHOWN).map((wait) => (
        <span key={wait.sequence} className="list-wait" title={titleOf(wait)}>
          <Icon name={KIND_ICONS[wait.kind]} />
          <span className="cut">
            <span className="visually-hidden">{wait.kind} </span>
            <Words wait={wait} />
          </span>
        </span>
      ))}
      {waits.length <= SHOWN ? null : (
        <span className="faint" title={waits.slice(SHOWN).map(titleOf).join("\n")}>
          +{waits.length - SHOWN}
        </span>
      )}
    </>
  );
}

function Words({ wait }: { readonly wait: Waiting }): ReactElement {
  switch (wait.kind) {
    case "timer":
      return <TimeAgo at={wait.due} />;
    case "activity":
    case "step":
      return (
        <>
          {wait.name}
          {wait.attempt === 1 ? null : (
            <span className="retrying">, {retryWords(wait.attempt)}</span>
          )}
        </>
      );
    case "requests":
      return <>{wait.names.join(", ")}</>;
    default:
      return <>{wait.name}</>;
  }
}

function titleOf(wait: Waiting): string {
  switch (wait.kind) {
    case "timer":
      return `timer, due ${formatDateTime(wait.due)}`;
    case "activity":
      return `activity ${wait.name}, attempt ${wait.attempt}, ${
        wait.completesLater === true
          ? "completed from outside"
          : wait.worker === undefined
            ? "not running"
            : `running on ${wait.worker}`
      }`;
    case "event":
      return `${wait.internal === true ? "internal event" : "event"} ${wait.name}`;
    case "requests":
      return `requests ${wait.names.join(", ")}`;
    case "child":
    case "ask":
      return `${wait.kind === "ask" ? "answer to" : "child"} ${wait.name}, ${wait.id}`;
    default:
      return `${wait.kind} ${wait.name}`;
  }
}
